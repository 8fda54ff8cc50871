// all, any and not: masks made of masks.
#include <ATen/ATen.h>

#include <algorithm>

#include "core/mask_node.h"

namespace headwright {
namespace {

using Nodes = std::vector<std::shared_ptr<const MaskNode>>;

std::string call_text(std::string name, const Nodes& parts) {
  for (const char* separator = "("; const auto& part : parts) {
    name += separator + part->to_string();
    separator = ", ";
  }
  return name + ")";
}

class All final : public MaskNode {
 public:
  explicit All(Nodes parts) : parts_(std::move(parts)) {}

  at::Tensor visible(const MaskInputs& inputs) const override {
    at::Tensor seen;
    for (const auto& part : parts_) {
      const auto next = part->visible(inputs);
      if (next.defined()) seen = seen.defined() ? seen.logical_and(next) : next;
    }
    return seen;
  }
  std::string to_string() const override { return call_text("all", parts_); }
  bool hides_future() const override { return std::ranges::any_of(parts_, &MaskNode::hides_future, get); }
  bool shows_future() const override { return std::ranges::all_of(parts_, &MaskNode::shows_future, get); }

 private:
  static const MaskNode& get(const std::shared_ptr<const MaskNode>& node) { return *node; }
  const Nodes parts_;
};

class Any final : public MaskNode {
 public:
  explicit Any(Nodes parts) : parts_(std::move(parts)) {}

  at::Tensor visible(const MaskInputs& inputs) const override {
    at::Tensor seen;
    for (const auto& part : parts_) {
      const auto next = part->visible(inputs);
      if (!next.defined()) return {};
      seen = seen.defined() ? seen.logical_or(next) : next;
    }
    return seen;
  }
  std::string to_string() const override { return call_text("any", parts_); }
  bool hides_future() const override { return std::ranges::all_of(parts_, &MaskNode::hides_future, get); }
  bool shows_future() const override { return std::ranges::any_of(parts_, &MaskNode::shows_future, get); }

 private:
  static const MaskNode& get(const std::shared_ptr<const MaskNode>& node) { return *node; }
  const Nodes parts_;
};

class Not final : public MaskNode {
 public:
  explicit Not(std::shared_ptr<const MaskNode> part) : part_(std::move(part)) {}

  at::Tensor visible(const MaskInputs& inputs) const override {
    const auto seen = part_ ? part_->visible(inputs) : at::Tensor();
    if (seen.defined()) return seen.logical_not();
    return inputs.q_positions.ne(inputs.q_positions);  // the part sees everything, so this sees nothing
  }
  std::string to_string() const override { return "not(" + (part_ ? part_->to_string() : "full") + ")"; }
  bool hides_future() const override { return part_ == nullptr || part_->shows_future(); }
  bool shows_future() const override { return part_ != nullptr && part_->hides_future(); }

 private:
  const std::shared_ptr<const MaskNode> part_;  // null = sees everything
};

}  // namespace

Mask Mask::all(std::vector<Mask> parts) {
  Nodes nodes;
  for (auto& part : parts) {
    if (!part.sees_everything()) nodes.push_back(std::move(part.node_));
  }
  if (nodes.empty()) return {};
  return nodes.size() == 1 ? Mask(nodes[0]) : Mask(std::make_shared<All>(std::move(nodes)));
}

Mask Mask::any(std::vector<Mask> parts) {
  if (parts.empty()) throw Error("[mask] any: got no parts, expected at least one");
  Nodes nodes;
  for (auto& part : parts) {
    if (part.sees_everything()) return {};
    nodes.push_back(std::move(part.node_));
  }
  return nodes.size() == 1 ? Mask(nodes[0]) : Mask(std::make_shared<Any>(std::move(nodes)));
}

Mask Mask::negation(Mask part) { return Mask(std::make_shared<Not>(std::move(part.node_))); }

}  // namespace headwright

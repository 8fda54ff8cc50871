// all, any and not: masks made of masks.
#include <ATen/ATen.h>

#include <algorithm>

#include "core/masks/mask_node.h"

namespace headwright {
namespace {

using Nodes = std::vector<std::shared_ptr<const MaskNode>>;

MaskForm form_of(std::string kind, const Nodes& nodes) {
  std::vector<Mask> parts;
  for (const auto& node : nodes) parts.emplace_back(node);
  return {.kind = std::move(kind), .parts = std::move(parts)};
}

/// The furthest key of any part, or of every part, where each part knows one.
template <class Pick>
std::optional<std::int64_t> of_parts(const Nodes& parts, Pick pick) {
  auto back = parts.front()->look_back();
  for (const auto& part : parts) {
    const auto next = part->look_back();
    if (!back || !next) return {};
    back = pick(*back, *next);
  }
  return back;
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
  MaskForm form() const override { return form_of("all", parts_); }
  Tile tile(const TileRange& range) const override {
    bool full = true;
    for (const auto& part : parts_) {
      const auto tile = part->tile(range);
      if (tile == Tile::empty) return tile;
      full &= tile == Tile::full;
    }
    return full ? Tile::full : Tile::partial;
  }
  bool hides_future() const override { return std::ranges::any_of(parts_, &MaskNode::hides_future, get); }
  bool shows_future() const override { return std::ranges::all_of(parts_, &MaskNode::shows_future, get); }
  bool is_sparse() const override { return std::ranges::any_of(parts_, &MaskNode::is_sparse, get); }
  bool is_dense() const override { return std::ranges::all_of(parts_, &MaskNode::is_dense, get); }
  bool reads_documents() const override { return std::ranges::any_of(parts_, &MaskNode::reads_documents, get); }
  bool reads_length() const override { return std::ranges::any_of(parts_, &MaskNode::reads_length, get); }
  std::optional<std::int64_t> look_back() const override {
    return of_parts(parts_, [](std::int64_t a, std::int64_t b) { return std::min(a, b); });
  }

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
  MaskForm form() const override { return form_of("any", parts_); }
  Tile tile(const TileRange& range) const override {
    bool empty = true;
    for (const auto& part : parts_) {
      const auto tile = part->tile(range);
      if (tile == Tile::full) return tile;
      empty &= tile == Tile::empty;
    }
    return empty ? Tile::empty : Tile::partial;
  }
  bool hides_future() const override { return std::ranges::all_of(parts_, &MaskNode::hides_future, get); }
  bool shows_future() const override { return std::ranges::any_of(parts_, &MaskNode::shows_future, get); }
  bool is_sparse() const override { return std::ranges::all_of(parts_, &MaskNode::is_sparse, get); }
  bool is_dense() const override { return std::ranges::any_of(parts_, &MaskNode::is_dense, get); }
  bool reads_documents() const override { return std::ranges::any_of(parts_, &MaskNode::reads_documents, get); }
  bool reads_length() const override { return std::ranges::any_of(parts_, &MaskNode::reads_length, get); }
  std::optional<std::int64_t> look_back() const override {
    return of_parts(parts_, [](std::int64_t a, std::int64_t b) { return std::max(a, b); });
  }

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
  MaskForm form() const override { return form_of("not", {part_}); }
  Tile tile(const TileRange& range) const override {
    if (part_ == nullptr) return Tile::empty;
    const auto tile = part_->tile(range);
    if (tile == Tile::partial) return tile;
    return tile == Tile::full ? Tile::empty : Tile::full;
  }
  bool hides_future() const override { return part_ == nullptr || part_->shows_future(); }
  bool is_sparse() const override { return part_ == nullptr || part_->is_dense(); }
  bool is_dense() const override { return part_ != nullptr && part_->is_sparse(); }
  bool reads_documents() const override { return part_ != nullptr && part_->reads_documents(); }
  bool reads_length() const override { return part_ != nullptr && part_->reads_length(); }
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

// The handle of a score modifier, and those that are made of a function.
#include "headwright/modifier.h"

#include <ATen/ATen.h>

#include "core/masks/mask_node.h"
#include "core/modifiers/modifier_node.h"

namespace headwright {
namespace {

/// A modifier that a plugin wrote.
class Custom final : public ModifierNode {
 public:
  Custom(std::string text, ScoreFunction function, std::vector<at::Tensor> learned)
      : text_(std::move(text)), function_(std::move(function)), learned_(std::move(learned)) {}

  at::Tensor apply(const at::Tensor& scores, const ScorePositions& place) const override {
    return function_(scores, place);
  }
  ModifierForm form() const override { return {.kind = text_}; }
  const std::vector<at::Tensor>& learned() const override { return learned_; }

 private:
  const std::string text_;
  const ScoreFunction function_;
  const std::vector<at::Tensor> learned_;
};

}  // namespace

ModifierNode::~ModifierNode() = default;

const std::vector<at::Tensor>& ModifierNode::learned() const {
  static const std::vector<at::Tensor> none;
  return none;
}

ScoreModifier::ScoreModifier(std::shared_ptr<const ModifierNode> node) : node_(std::move(node)) {}
at::Tensor ScoreModifier::apply(const at::Tensor& scores, const ScorePositions& place) const {
  return node_->apply(scores, place);
}
const std::vector<at::Tensor>& ScoreModifier::learned() const { return node_->learned(); }
ModifierForm ScoreModifier::form() const { return node_->form(); }

std::string ScoreModifier::to_string() const {
  const auto [kind, values] = form();
  return core::call_text(kind, values);
}

ScoreModifier modifier(std::string text, ScoreFunction function, std::vector<at::Tensor> learned) {
  if (!function) throw Error("[modifier] " + text + ": got no function");
  return ScoreModifier(std::make_shared<Custom>(std::move(text), std::move(function), std::move(learned)));
}

}  // namespace headwright

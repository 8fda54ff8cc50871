#include "headwright/modifier.h"

#include <ATen/ATen.h>

#include "core/modifier_node.h"

namespace headwright {

ModifierNode::~ModifierNode() = default;

ScoreModifier::ScoreModifier(std::shared_ptr<const ModifierNode> node) : node_(std::move(node)) {}
at::Tensor ScoreModifier::apply(const at::Tensor& scores) const { return node_->apply(scores); }
std::string ScoreModifier::to_string() const { return node_->to_string(); }

}  // namespace headwright

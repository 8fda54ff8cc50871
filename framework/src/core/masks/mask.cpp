#include "headwright/mask.h"

#include <ATen/ATen.h>

#include "core/masks/mask_node.h"

namespace headwright {

MaskNode::~MaskNode() = default;

Mask::Mask() = default;
Mask::Mask(std::shared_ptr<const MaskNode> node) : node_(std::move(node)) {}

void core::expect_at_least_one(const char* mask, const char* name, std::int64_t number) {
  if (number >= 1) return;
  throw Error(std::string("[mask] ") + mask + ": got " + name + " = " + std::to_string(number) +
              ", expected at least 1");
}

bool Mask::sees_everything() const { return node_ == nullptr; }
bool Mask::is_causal() const { return node_ && node_->is_causal(); }
bool Mask::hides_future() const { return node_ && node_->hides_future(); }
bool Mask::is_sparse() const { return node_ && node_->is_sparse(); }
bool Mask::reads_length() const { return node_ && node_->reads_length(); }
std::optional<std::int64_t> Mask::look_back() const {
  const auto back = node_ ? node_->look_back() : std::nullopt;
  return back == kWithoutBound ? std::nullopt : back;
}
bool Mask::reads_documents() const { return node_ && node_->reads_documents(); }
Tile Mask::tile(const TileRange& range) const { return node_ ? node_->tile(range) : Tile::full; }
at::Tensor Mask::visible(const MaskInputs& inputs) const { return node_ ? node_->visible(inputs) : at::Tensor(); }
std::string Mask::to_string() const { return node_ ? node_->to_string() : "full"; }

}  // namespace headwright

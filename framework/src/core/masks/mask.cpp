// The handle of a mask: what it is asked goes to its node.
#include "headwright/mask.h"

#include <ATen/ATen.h>

#include <sstream>
#include <type_traits>

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
MaskForm Mask::form() const { return node_ ? node_->form() : MaskForm{.kind = "full"}; }

std::string Mask::to_string() const {
  const auto [kind, values, parts] = form();
  return core::call_text(kind, values, parts);
}

std::string core::call_text(const std::string& kind, const ParamMap& values, const std::vector<Mask>& parts) {
  std::ostringstream text;
  const auto print = [&](const auto& value) {
    using T = std::decay_t<decltype(value)>;
    if constexpr (std::is_arithmetic_v<T>) text << value;
    else if constexpr (std::is_same_v<T, std::monostate>) text << "all";  // a bound that is left out
    else throw Error("[mask] a parameter of a type that no mask has");
  };
  text << kind;
  const char* separator = "(";
  for (const auto& item : values) {
    text << separator;
    std::visit(print, item.second.data);
    separator = ", ";
  }
  for (const auto& part : parts) {
    text << separator << part.to_string();
    separator = ", ";
  }
  if (!values.empty() || !parts.empty()) text << ")";
  return text.str();
}

}  // namespace headwright

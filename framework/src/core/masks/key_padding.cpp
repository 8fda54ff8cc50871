// The keys that the run-time key mask marks as visible; without a key mask, all of them.
#include <ATen/ATen.h>

#include "core/masks/mask_node.h"

namespace headwright {
namespace {

class KeyPadding final : public MaskNode {
 public:
  at::Tensor visible(const MaskInputs& inputs) const override { return inputs.key_mask; }
  MaskForm form() const override { return {.kind = "key_padding"}; }
  std::optional<std::int64_t> look_back() const override { return kWithoutBound; }
};

}  // namespace

Mask Mask::key_padding() { return Mask(std::make_shared<KeyPadding>()); }

MaskKind core::key_padding_kind() {
  return {"key_padding", "the keys that the key mask of the input marks as visible; all without a key mask",
          specs_of<NoParams>(), [](const ParamMap&) { return Mask::key_padding(); }};
}

}  // namespace headwright

// A query sees itself and what came before it.
#include <ATen/ATen.h>

#include "core/mask_node.h"

namespace headwright {
namespace {

class Causal final : public MaskNode {
 public:
  at::Tensor visible(const MaskInputs& inputs) const override { return inputs.k_positions <= inputs.q_positions; }
  std::string to_string() const override { return "causal"; }
  bool hides_future() const override { return true; }
  bool is_causal() const override { return true; }
};

struct NoParams {
  static constexpr auto fields() { return std::tuple{}; }
};

}  // namespace

Mask Mask::causal() { return Mask(std::make_shared<Causal>()); }

MaskKind core::causal_kind() {
  return {"causal", "a query sees itself and what came before", specs_of<NoParams>(),
          [](const ParamMap&) { return Mask::causal(); }};
}

}  // namespace headwright

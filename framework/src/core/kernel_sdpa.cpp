// torch's public scaled_dot_product_attention, where it can express the request.
#include <ATen/ATen.h>

#include "core/kernel.h"

namespace headwright::core {
namespace {

class Sdpa final : public Kernel {
 public:
  std::string name() const override { return "sdpa"; }

  std::optional<std::string> cannot(const Scoring& scoring) const override {
    if (scoring.normaliser != Normaliser::softmax) return "use another normaliser than softmax";
    if (scoring.sink.defined()) return "let a sink join the softmax";
    if (!scoring.modifiers.empty()) return "apply score modifiers (" + scoring.modifiers[0].to_string() + ")";
    if (scoring.needs_lse) return "return lse";
    return std::nullopt;
  }

  Attended run(const Request& request) const override {
    const auto& [q, k, v, scoring] = request;
    // Its own causal path is aligned to the start of the keys: right only where both lengths are one.
    const bool is_causal = scoring.mask.is_causal() && scoring.same_sequence && !scoring.key_mask.defined();
    const auto visible = is_causal ? at::Tensor() : visible_keys(scoring, mask_inputs(q, k, scoring));
    const std::optional<at::Tensor> mask = visible.defined() ? std::optional(visible) : std::nullopt;
    const bool grouped = q.size(1) != k.size(1);
    return {at::scaled_dot_product_attention(q, k, v, mask, scoring.dropout, is_causal, scale_of(q, scoring), grouped),
            {}};
  }
};

}  // namespace

std::unique_ptr<Kernel> sdpa_kernel() { return std::make_unique<Sdpa>(); }

}  // namespace headwright::core

// torch's public scaled_dot_product_attention, where it can express the request.
#include <ATen/ATen.h>
#include <torch/csrc/jit/frontend/tracer.h>

#include <algorithm>

#include "core/kernels/kernel.h"

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
    const bool plain_causal = scoring.mask.is_causal() && !scoring.key_mask.defined();
    // Its own causal path is aligned to the start of the keys: right only where both lengths are one. A trace holds for
    // all lengths, so there only a promise counts.
    const bool traced = torch::jit::tracer::isTracing();
    const bool is_causal = plain_causal && (scoring.same_sequence || (!traced && q.size(2) == k.size(2)));
    const bool sees_all = plain_causal && !traced && q.size(2) == 1 && k.size(2) > 0;
    const auto visible = is_causal || sees_all ? at::Tensor() : visible_keys(scoring, mask_inputs(q, k, scoring));
    const std::optional<at::Tensor> mask = visible.defined() ? std::optional(visible) : std::nullopt;
    const bool grouped = q.size(1) != k.size(1);
    // It leaves its memory-saving path where v is not as wide as q: channels of zeros change nothing.
    const auto width = std::max(q.size(3), v.size(3));
    const auto y = at::scaled_dot_product_attention(widened(q, width), widened(k, width), widened(v, width), mask,
                                                    scoring.dropout, is_causal, scale_of(q, scoring), grouped);
    return {v.size(3) == width ? y : y.slice(-1, 0, v.size(3)), {}};
  }

 private:
  static at::Tensor widened(const at::Tensor& x, std::int64_t width) {
    return x.size(3) == width ? x : at::constant_pad_nd(x, {0, width - x.size(3)});
  }
};

}  // namespace

std::unique_ptr<Kernel> sdpa_kernel() { return std::make_unique<Sdpa>(); }

}  // namespace headwright::core

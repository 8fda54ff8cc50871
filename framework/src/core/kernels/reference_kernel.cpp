// The plain kernel: every mask, modifier and normaliser, any dtype, lse with its gradient. The others are compared with
// it.
#include <ATen/ATen.h>

#include <limits>

#include "core/kernels/kernel.h"
#include "headwright/shapes.h"

namespace headwright::core {
namespace {

/// a (batch, n_heads, n, m) by b (batch, n_kv_heads, m, d); each head of b is shared by a group of a's heads.
at::Tensor grouped_matmul(const at::Tensor& a, const at::Tensor& b) {
  const auto n_heads = a.size(1), n_kv_heads = b.size(1);
  if (n_heads == n_kv_heads) return at::matmul(a, b);
  const auto grouped = a.unflatten(1, {n_kv_heads, n_heads / n_kv_heads});
  return at::matmul(grouped, b.unsqueeze(2)).flatten(1, 2);
}

/// A row that sees nothing becomes NaN in what follows; whoever calls fills it again, and so does the gradient of this.
at::Tensor hide(const at::Tensor& scores, const at::Tensor& visible) {
  if (!visible.defined()) return scores;
  return scores.masked_fill(visible.logical_not(), -std::numeric_limits<double>::infinity());
}

class Reference final : public Kernel {
 public:
  std::string name() const override { return "reference"; }
  std::optional<std::string> cannot(const Scoring&) const override { return std::nullopt; }

  Attended run(const Request& request) const override {
    const auto& [q, k, v, scoring] = request;
    const auto inputs = mask_inputs(q, k, scoring);
    const auto scores = modified_scores(wide(q), wide(k), scoring, score_place(inputs, scoring));
    const auto visible = visible_keys(scoring, inputs);
    Attended attended;
    at::Tensor weights;  // (batch, n_heads, q_len, k_len)
    if (scoring.normaliser == Normaliser::sigmoid) {
      weights = sigmoid_weights(scores, scoring, k);
      if (visible.defined()) weights = weights.masked_fill(visible.logical_not(), 0);
    } else {
      weights = masked_softmax(scores, visible);
      if (scoring.needs_lse || has_sink(scoring)) attended.lse = hide(scores, visible).logsumexp(-1);
      if (has_sink(scoring)) {
        weights = weights * (attended.lse - sink_logit(scoring, attended.lse)).sigmoid().unsqueeze(-1);
      }
    }
    if (scoring.dropout > 0) weights = at::dropout(weights, scoring.dropout, true);
    attended.y = weighted_values(weights, v);
    if (!scoring.needs_lse) attended.lse.reset();
    return attended;
  }
};

}  // namespace

std::unique_ptr<Kernel> reference_kernel() { return std::make_unique<Reference>(); }

at::Tensor modified_scores(const at::Tensor& q, const at::Tensor& k, const Scoring& scoring,
                           const ScorePositions& place) {
  auto scores = grouped_matmul(q * scale_of(q, scoring), k.transpose(-2, -1));
  for (const auto& modifier : scoring.modifiers) scores = modifier.apply(scores, place);
  return scores;  // (batch, n_heads, q_len, k_len)
}

}  // namespace headwright::core

namespace headwright {

at::Tensor attention_scores(const at::Tensor& q, const at::Tensor& k, const Scoring& scoring) {
  core::check_query(q, k);
  core::check_scoring(q, k, scoring);
  return core::modified_scores(wide(q), wide(k), scoring, core::score_place(core::mask_inputs(q, k, scoring), scoring));
}

at::Tensor visible_keys(const at::Tensor& q, const at::Tensor& k, const Scoring& scoring) {
  core::check_query(q, k);
  core::check_scoring(q, k, scoring);
  return core::visible_keys(scoring, core::mask_inputs(q, k, scoring));
}

at::Tensor weighted_values(const at::Tensor& weights, const at::Tensor& v) {
  return core::grouped_matmul(weights, wide(v)).to(v.scalar_type());
}

at::Tensor masked_softmax(const at::Tensor& scores, const at::Tensor& visible) {
  if (!visible.defined()) return scores.softmax(-1);
  return core::hide(scores, visible).softmax(-1).masked_fill(visible.logical_not(), 0);
}

}  // namespace headwright

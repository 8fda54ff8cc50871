// The plain kernel: every mask and modifier, any dtype, lse with its gradient. The others are compared with it.
#include <ATen/ATen.h>

#include <limits>

#include "core/kernel.h"

namespace headwright::core {
namespace {

/// (batch, n_heads, q_len, k_len) x (batch, n_kv_heads, k_len, d) with each key head shared by its group of query
/// heads.
at::Tensor grouped_matmul(const at::Tensor& a, const at::Tensor& b) {
  const auto n_heads = a.size(1), n_kv_heads = b.size(1);
  if (n_heads == n_kv_heads) return at::matmul(a, b);
  const auto grouped = a.unflatten(1, {n_kv_heads, n_heads / n_kv_heads});
  return at::matmul(grouped, b.unsqueeze(2)).flatten(1, 2);
}

constexpr auto kMinusInfinity = -std::numeric_limits<double>::infinity();

/// Rows that see nothing keep their scores: -inf throughout would make a NaN of them, or of their gradient.
at::Tensor hide(const at::Tensor& scores, const at::Tensor& visible) {
  const auto sees_something = visible.any(-1, /*keepdim=*/true);
  return scores.masked_fill(visible.logical_not().logical_and(sees_something), kMinusInfinity);
}

at::Tensor masked_logsumexp(const at::Tensor& scores, const at::Tensor& visible) {
  if (!visible.defined()) return scores.logsumexp(-1);
  const auto sees_nothing = visible.any(-1).logical_not();
  return hide(scores, visible).logsumexp(-1).masked_fill(sees_nothing, kMinusInfinity);  // (batch, n_heads, q_len)
}

class Reference final : public Kernel {
 public:
  std::string name() const override { return "reference"; }
  std::optional<std::string> cannot(const Scoring&) const override { return std::nullopt; }

  Attended run(const Request& request) const override {
    const auto& [q, k, v, scoring] = request;
    const auto scores = modified_scores(wide(q), wide(k), scoring);  // (batch, n_heads, q_len, k_len)
    const auto visible = visible_keys(q, k, scoring);
    auto weights = masked_softmax(scores, visible);
    if (scoring.dropout > 0) weights = at::dropout(weights, scoring.dropout, true);
    Attended attended{grouped_matmul(weights, wide(v)).to(v.scalar_type()), {}};
    if (scoring.needs_lse) attended.lse = masked_logsumexp(scores, visible);
    return attended;
  }
};

}  // namespace

std::unique_ptr<Kernel> reference_kernel() { return std::make_unique<Reference>(); }

at::Tensor wide(const at::Tensor& x) { return at::isReducedFloatingType(x.scalar_type()) ? x.to(at::kFloat) : x; }

at::Tensor modified_scores(const at::Tensor& q, const at::Tensor& k, const Scoring& scoring) {
  auto scores = grouped_matmul(q * scale_of(q, scoring), k.transpose(-2, -1));
  for (const auto& modifier : scoring.modifiers) scores = modifier.apply(scores);
  return scores;  // (batch, n_heads, q_len, k_len)
}

}  // namespace headwright::core

namespace headwright {

at::Tensor masked_softmax(const at::Tensor& scores, const at::Tensor& visible) {
  if (!visible.defined()) return scores.softmax(-1);
  return core::hide(scores, visible).softmax(-1).masked_fill(visible.logical_not(), 0);
}

}  // namespace headwright

// Attention weights on demand, whichever kernel computed the output.
#include <ATen/ATen.h>

#include "core/kernels/kernel.h"
#include "headwright/shapes.h"

namespace headwright {
namespace {

/// `chosen` as indices on q's device, all of `count` if it is empty. Throws InputError past the end.
at::Tensor indices(const char* what, const std::vector<std::int64_t>& chosen, std::int64_t count, const at::Tensor& q) {
  const auto options = at::TensorOptions(at::kLong).device(q.device());
  if (chosen.empty()) return at::arange(count, options);
  for (const auto index : chosen) {
    if (index >= 0 && index < count) continue;
    throw InputError("[attention_weights] " + std::string(what) + ": got " + std::to_string(index) +
                     ", expected 0 to " + std::to_string(count - 1));
  }
  return at::tensor(chosen, options);
}

/// A block of rows: scores (batch, n_heads, rows, k_len) -> weights.
at::Tensor weights_of(const at::Tensor& scores, const at::Tensor& visible, const Scoring& scoring, const at::Tensor& k,
                      const at::Tensor& lse) {
  const auto hidden = visible.defined() ? visible.logical_not() : at::Tensor();
  if (scoring.normaliser == Normaliser::sigmoid) {
    const auto weights = core::sigmoid_weights(scores, scoring, k);
    return hidden.defined() ? weights.masked_fill(hidden, 0) : weights;
  }
  auto sum = lse;  // (batch, n_heads, rows)
  if (!sum.defined()) {
    sum = (hidden.defined() ? scores.masked_fill(hidden, -INFINITY) : scores).logsumexp(-1);
  }
  if (core::has_sink(scoring)) sum = at::logaddexp(sum, core::sink_logit(scoring, sum));
  const auto weights = (scores - sum.unsqueeze(-1)).exp();
  return hidden.defined() ? weights.masked_fill(hidden, 0) : weights;
}

}  // namespace

at::Tensor attention_weights(const at::Tensor& q, const at::Tensor& k, const Scoring& scoring,
                             const WeightChoice& choice, const at::Tensor& lse) {
  core::check_query(q, k);
  core::check_scoring(q, k, scoring);
  if (lse.defined() && lse.sizes() != q.sizes().slice(0, 3)) {
    refuse_shape("attention_weights", "lse", lse, "(batch, n_heads, q_len) as in q " + shape_text(q));
  }
  const auto heads = indices("heads", choice.heads, q.size(1), q);
  const auto queries = indices("queries", choice.queries, q.size(2), q);
  const auto inputs = core::mask_inputs(q, k, scoring);
  const auto place = core::score_place(inputs, scoring);
  const auto wide_k = wide(k);

  constexpr std::int64_t kRows = 256;  // of a block
  std::vector<at::Tensor> blocks;
  for (std::int64_t begin = 0; begin < std::max<std::int64_t>(1, queries.size(0)); begin += kRows) {
    const auto rows = queries.slice(0, begin, begin + kRows);
    const auto scores =
        core::modified_scores(wide(q.index_select(2, rows)), wide_k, scoring, core::slice(place, rows, 0, k.size(2)));
    const auto visible = core::visible_keys(scoring, core::slice(inputs, rows, 0, k.size(2)));
    const auto sum = lse.defined() ? lse.index_select(2, rows) : at::Tensor();
    const auto weights = weights_of(scores, visible, scoring, k, sum).to(q.scalar_type());
    blocks.push_back(choice.heads.empty() ? weights : weights.index_select(1, heads));
  }
  return blocks.size() == 1 ? blocks[0] : at::cat(blocks, 2);  // (batch, heads, queries, k_len)
}

}  // namespace headwright

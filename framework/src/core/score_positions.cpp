// Where queries and keys stand, and what of a request follows from that.
#include <ATen/ATen.h>
#include <torch/csrc/jit/frontend/tracer.h>

#include <cmath>

#include "core/kernels/kernel.h"
#include "headwright/shapes.h"

namespace headwright::core {
namespace {

/// The number of keys as a tensor that follows the input's length in a trace: (1).
at::Tensor number_of(const at::Tensor& keys) { return at::ones_like(keys).sum(0, true); }

/// Positions of queries as a column, (q_len, 1) or (batch, 1, q_len, 1).
at::Tensor column(const at::Tensor& positions) {
  return positions.dim() == 1 ? positions.unsqueeze(-1) : positions.unsqueeze(1).unsqueeze(-1);
}

/// Positions of keys as a row, (1, k_len) or (batch, 1, 1, k_len).
at::Tensor row(const at::Tensor& positions) {
  return positions.dim() == 1 ? positions.unsqueeze(0) : positions.unsqueeze(1).unsqueeze(1);
}

at::Tensor chosen(const at::Tensor& x, std::int64_t dim, const at::Tensor& queries) {
  return x.defined() && x.size(dim) > 1 ? x.index_select(dim, queries) : x;
}

at::Tensor part(const at::Tensor& x, std::int64_t begin, std::int64_t end) {
  return x.defined() && x.size(-1) > 1 ? x.slice(-1, begin, end) : x;
}

}  // namespace

MaskInputs mask_inputs(const at::Tensor& q, const at::Tensor& k, const Scoring& scoring) {
  const auto keys = positions_along(k, 2);                                         // (k_len)
  const auto queries = positions_along(q, 2).flip(0).neg() + number_of(keys) - 1;  // (q_len), aligned to the end
  MaskInputs inputs{.q_positions = queries.unsqueeze(-1), .k_positions = keys.unsqueeze(0), .all_keys = keys};
  if (scoring.key_mask.defined()) inputs.key_mask = scoring.key_mask.unsqueeze(1).unsqueeze(1);
  if (const auto& ids = scoring.document_ids; ids.defined()) {
    inputs.q_documents = ids.index_select(1, queries).unsqueeze(1).unsqueeze(-1);  // (batch, 1, q_len, 1)
    inputs.k_documents = ids.unsqueeze(1).unsqueeze(1);                            // (batch, 1, 1, k_len)
  }
  return inputs;
}

ScorePositions score_place(const MaskInputs& inputs, const Scoring& scoring) {
  if (!scoring.q_positions.defined()) return {inputs.q_positions, inputs.k_positions};
  return {column(scoring.q_positions), row(scoring.k_positions)};
}

MaskInputs slice(const MaskInputs& inputs, const at::Tensor& queries, std::int64_t k_begin, std::int64_t k_end) {
  return {.q_positions = inputs.q_positions.index_select(0, queries),
          .k_positions = inputs.k_positions.slice(1, k_begin, k_end),
          .key_mask = part(inputs.key_mask, k_begin, k_end),
          .q_documents = chosen(inputs.q_documents, 2, queries),
          .k_documents = part(inputs.k_documents, k_begin, k_end),
          .all_keys = inputs.all_keys};
}

ScorePositions slice(const ScorePositions& place, const at::Tensor& queries, std::int64_t k_begin, std::int64_t k_end) {
  return {place.q_positions.index_select(-2, queries), place.k_positions.slice(-1, k_begin, k_end)};
}

Mask mask_of(const Scoring& scoring) {
  return scoring.key_mask.defined() ? Mask::all({scoring.mask, Mask::key_padding()}) : scoring.mask;
}

at::Tensor visible_keys(const Scoring& scoring, const MaskInputs& inputs) {
  auto visible = mask_of(scoring).visible(inputs);
  // scaled_dot_product_attention leaves its memory-saving path for masks of 3 dimensions.
  while (visible.defined() && visible.dim() < 4) visible = visible.unsqueeze(0);
  return visible;
}

double scale_of(const at::Tensor& q, const Scoring& scoring) {
  return scoring.scale.value_or(1 / std::sqrt(static_cast<double>(q.size(3))));
}

bool has_sink(const Scoring& scoring) {
  return scoring.normaliser == Normaliser::softmax_one || scoring.sink.defined();
}

at::Tensor sink_logit(const Scoring& scoring, const at::Tensor& lse) {
  if (scoring.normaliser == Normaliser::softmax_one) return at::zeros_like(lse);
  return scoring.sink.to(lse.dtype()).unsqueeze(-1);  // (n_heads, 1)
}

at::Tensor sigmoid_weights(const at::Tensor& scores, const Scoring& scoring, const at::Tensor& k) {
  if (scoring.sigmoid_bias) return (scores + *scoring.sigmoid_bias).sigmoid();
  const auto count = number_of(positions_along(k, 2)).to(scores.dtype());  // (1)
  return (scores - count.clamp_min(1).log()).sigmoid();
}

}  // namespace headwright::core

// The forward sums: a running maximum and sum for each query, corrected as ranges of keys go by.
// Source: Milakov and Gimelshein 2018, arXiv:1805.02867; Rabe and Staats 2021, arXiv:2112.05682; Dao et al. 2022,
// arXiv:2205.14135.
#include "core/kernels/blockwise.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <limits>

#include "headwright/shapes.h"

namespace headwright::core {
namespace {

constexpr double kHidden = -std::numeric_limits<double>::infinity();

/// Ranges so long that a rectangle of all heads stays within some megabytes.
BlockSizes sizes_for(const at::Tensor& q) {
  constexpr std::int64_t kMostScores = std::int64_t{1} << 19;
  BlockSizes sizes;
  const auto rows = std::max<std::int64_t>(1, q.size(0) * q.size(1)) * sizes.queries;
  sizes.span = std::clamp<std::int64_t>(kMostScores / rows / sizes.keys * sizes.keys, sizes.keys, 1024);
  return sizes;
}

}  // namespace

std::vector<at::Tensor> learned_in(const Scoring& scoring) {
  std::vector<at::Tensor> learned;
  for (const auto& modifier : scoring.modifiers) {
    for (const auto& tensor : modifier.learned()) {
      const bool known = std::ranges::any_of(learned, [&](const at::Tensor& t) { return t.is_same(tensor); });
      if (tensor.requires_grad() && !known) learned.push_back(tensor);
    }
  }
  return learned;
}

Blockwise::Blockwise(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const Scoring& scoring)
    : Blockwise(q, k, v, scoring, sizes_for(q)) {}

Blockwise::Blockwise(at::Tensor q, at::Tensor k, at::Tensor v, const Scoring& scoring, const BlockSizes& sizes)
    : q_(std::move(q)),
      k_(std::move(k)),
      v_(std::move(v)),
      scoring_(scoring),
      inputs_(mask_inputs(q_, k_, scoring)),
      place_(score_place(inputs_, scoring)),
      scale_(scale_of(q_, scoring)),
      learned_(learned_in(scoring)),
      blocks_(plan_blocks(mask_of(scoring), q_.size(2), k_.size(2), sizes)) {}

at::Tensor Blockwise::queries_of(const at::Tensor& x, const QueryBlock& block) const {
  const auto rows = wide(x.slice(2, block.begin, block.end)).contiguous();  // (batch, n_heads, rows, d)
  const auto group = q_.size(1) / k_.size(1);
  return rows.view({q_.size(0) * k_.size(1), group * rows.size(2), rows.size(3)});
}

at::Tensor Blockwise::keys_of(const at::Tensor& x, const KeyRange& range) {
  return wide(x.slice(2, range.begin, range.end)).flatten(0, 1);
}

at::Tensor Blockwise::by_head(const at::Tensor& x, const QueryBlock& block) const {
  return x.view({q_.size(0), q_.size(1), block.end - block.begin, x.size(-1)});
}

at::Tensor Blockwise::modified(const at::Tensor& scores, const QueryBlock& block, const KeyRange& range) const {
  const auto rows = at::arange(block.begin, block.end, inputs_.all_keys.options());
  const auto place = slice(place_, rows, range.begin, range.end);
  auto changed = by_head(scores, block);
  for (const auto& modifier : scoring_.modifiers) changed = modifier.apply(changed, place);
  return changed.contiguous().view(scores.sizes());
}

void Blockwise::hide(const at::Tensor& scores, const QueryBlock& block, const KeyRange& range, double value) const {
  if (!range.masked) return;
  const auto rows = at::arange(block.begin, block.end, inputs_.all_keys.options());
  const auto visible = visible_keys(scoring_, slice(inputs_, rows, range.begin, range.end));
  if (visible.defined()) by_head(scores, block).masked_fill_(visible.logical_not(), value);
}

/// Of one block of queries, relative to the largest score so far.
struct Blockwise::Running {
  at::Tensor largest, base, sum,
      y;  // (.., rows, 1), and y (.., rows, d_value); base: largest, or 0 where nothing is seen

  /// scores are consumed.
  void add(at::Tensor& scores, const at::Tensor& v) {
    auto next = scores.amax(-1, /*keepdim=*/true);
    if (largest.defined()) next = at::maximum(largest, next);
    base = next.masked_fill(next == kHidden, 0);
    scores.sub_(base).exp_();
    if (!largest.defined()) {
      sum = scores.sum(-1, /*keepdim=*/true);
      y = scores.bmm(v);
    } else {
      const auto factor = (largest - base).exp_();
      sum.mul_(factor).add_(scores.sum(-1, /*keepdim=*/true));
      y.mul_(factor).baddbmm_(scores, v);
    }
    largest = std::move(next);
  }
};

/// What a sink leaves to the keys. lse: (batch, n_heads, rows, 1)
at::Tensor Blockwise::share_of_keys(const at::Tensor& lse) const {
  return (lse.squeeze(-1) - sink_logit(scoring_, lse.squeeze(-1))).sigmoid_().unsqueeze(-1);
}

void Blockwise::softmax_rows(const QueryBlock& block, Result& result) const {
  const auto q = queries_of(q_, block).mul(scale_);
  Running running;
  for (const auto& range : block.keys) {
    auto scores = q.bmm(keys_of(k_, range).transpose(1, 2));
    if (!scoring_.modifiers.empty()) scores = modified(scores, block, range);
    hide(scores, block, range, kHidden);
    running.add(scores, keys_of(v_, range));
  }
  auto y = by_head(running.y / running.sum.masked_fill(running.sum == 0, 1), block);
  const auto lse = by_head(running.sum.log() + running.base, block);  // (batch, n_heads, rows, 1)
  if (has_sink(scoring_)) y = y * share_of_keys(lse);
  result.y.slice(2, block.begin, block.end).copy_(y);
  result.lse.slice(2, block.begin, block.end).copy_(lse.squeeze(-1));
}

void Blockwise::sigmoid_rows(const QueryBlock& block, Result& result) const {
  const auto q = queries_of(q_, block).mul(scale_);
  at::Tensor y;
  for (const auto& range : block.keys) {
    auto weights = q.bmm(keys_of(k_, range).transpose(1, 2));
    if (!scoring_.modifiers.empty()) weights = modified(weights, block, range);
    weights = sigmoid_weights(weights, scoring_, k_);
    hide(weights, block, range, 0);
    const auto part = weights.bmm(keys_of(v_, range));
    y = y.defined() ? y.add_(part) : part;
  }
  result.y.slice(2, block.begin, block.end).copy_(by_head(y, block));
}

Blockwise::Result Blockwise::forward() const {
  const auto shape = std::vector<std::int64_t>{q_.size(0), q_.size(1), q_.size(2)};
  Result result{.y = at::zeros({shape[0], shape[1], shape[2], v_.size(3)}, v_.options())};
  const auto dtype = wide(v_.scalar_type());
  result.lse = sigmoid() ? at::empty({0}, v_.options()) : at::full(shape, kHidden, v_.options().dtype(dtype));
  for (const auto& block : blocks_) {
    if (block.keys.empty()) continue;  // zeros and -inf stay
    if (sigmoid()) {
      sigmoid_rows(block, result);
    } else {
      softmax_rows(block, result);
    }
  }
  return result;
}

}  // namespace headwright::core

// The gradients: each rectangle is computed again from q, k and lse, and used up before the next.
// Source: Dao et al. 2022, arXiv:2205.14135, appendix B.2.
#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/grad_mode.h>

#include <limits>

#include "core/kernels/blockwise.h"
#include "headwright/shapes.h"

namespace headwright::core {

/// scores: plain. Where there are modifiers, `leaf` is what they were given and `modified` what they made of it.
struct Blockwise::Rectangle {
  at::Tensor scores, leaf, modified;
};

Blockwise::Rectangle Blockwise::rectangle(const at::Tensor& q, const QueryBlock& block, const KeyRange& range) const {
  Rectangle made{.scores = q.bmm(keys_of(k_, range).transpose(1, 2))};
  if (scoring_.modifiers.empty()) return made;
  const at::AutoGradMode with_gradient(true);
  made.leaf = made.scores.requires_grad_(true);
  made.modified = modified(made.leaf, block, range);
  made.scores = made.modified.detach();
  return made;
}

at::Tensor Blockwise::score_gradient(const Rectangle& rectangle, const at::Tensor& of_modified,
                                     Gradients& gradients) const {
  if (!rectangle.leaf.defined()) return of_modified;
  std::vector<at::Tensor> wanted{rectangle.leaf};
  wanted.insert(wanted.end(), learned_.begin(), learned_.end());
  const auto found = torch::autograd::grad({rectangle.modified}, wanted, {of_modified}, /*retain_graph=*/std::nullopt,
                                           /*create_graph=*/false, /*allow_unused=*/true);
  for (std::size_t i = 0; i < learned_.size(); ++i) {
    auto& sum = gradients.learned[i];
    if (found[i + 1].defined()) sum = sum.defined() ? sum + found[i + 1] : wide(found[i + 1]);
  }
  return found[0].defined() ? found[0] : at::zeros_like(of_modified);
}

/// Each (batch * n_kv_heads, group * rows, 1); logs are 0 where a row sees nothing.
struct Blockwise::RowSums {
  at::Tensor lse, delta;           // log of the whole sum; what the softmax takes off each weight's gradient
  at::Tensor lse_of_keys, of_lse;  // with a sink, which lse leaves out: log of the keys' own sum, and its gradient
};

/// dy: (.., rows, d_value)
void Blockwise::rows_backward(const QueryBlock& block, const at::Tensor& dy, const RowSums& sums,
                              Gradients& gradients) const {
  const auto q = queries_of(q_, block).mul(scale_);
  const auto add_keys = [&](const at::Tensor& sum, const KeyRange& range, const at::Tensor& part) {
    auto slot = sum.slice(2, range.begin, range.end);
    slot.add_(part.view(slot.sizes()));
  };
  at::Tensor dq;
  for (const auto& range : block.keys) {
    const auto rectangle = this->rectangle(q, block, range);
    const auto weights =
        sigmoid() ? sigmoid_weights(rectangle.scores, scoring_, k_) : rectangle.scores.sub(sums.lse).exp_();
    hide(weights, block, range, 0);
    add_keys(gradients.v, range, weights.transpose(1, 2).bmm(dy));
    auto change = dy.bmm(keys_of(v_, range).transpose(1, 2));  // of the weights, then of the modified scores
    if (sigmoid()) {
      change.mul_(weights).mul_(1 - weights);
    } else {
      change.sub_(sums.delta).mul_(weights);
    }
    if (sums.of_lse.defined()) {  // apart from the weights, which a large sink makes too small to be divided
      auto shares = rectangle.scores.sub(sums.lse_of_keys).exp_();
      hide(shares, block, range, 0);
      change.addcmul_(shares, sums.of_lse);
    }
    const auto of_scores = score_gradient(rectangle, change, gradients);
    const auto part = of_scores.bmm(keys_of(k_, range));
    dq = dq.defined() ? dq.add_(part) : part;
    add_keys(gradients.k, range, of_scores.transpose(1, 2).bmm(q));
  }
  if (dq.defined()) gradients.q.slice(2, block.begin, block.end).copy_(by_head(dq.mul_(scale_), block));
}

Blockwise::RowSums Blockwise::row_sums(const QueryBlock& block, const Result& result, const at::Tensor& dy,
                                       const at::Tensor& dlse, Gradients& gradients) const {
  const auto of_keys = result.lse.slice(2, block.begin, block.end).unsqueeze(-1);  // (batch, n_heads, rows, 1)
  const auto y = wide(result.y.slice(2, block.begin, block.end));
  const auto delta = (by_head(dy, block) * y).sum(-1, /*keepdim=*/true);
  const auto of_lse = dlse.defined() ? dlse.slice(2, block.begin, block.end).unsqueeze(-1) : at::Tensor();
  const auto column = [&](const at::Tensor& x) { return x.reshape({dy.size(0), dy.size(1), 1}); };
  const auto log_sum = [&](const at::Tensor& x) {
    return column(x.masked_fill(x == -std::numeric_limits<double>::infinity(), 0));
  };
  if (!has_sink(scoring_)) {
    return {.lse = log_sum(of_keys), .delta = column(of_lse.defined() ? delta - of_lse : delta)};
  }
  if (gradients.sink.defined()) {
    gradients.sink.sub_(((1 - share_of_keys(of_keys)) * delta).sum(c10::IntArrayRef{0, 2, 3}));
  }
  const auto all = at::logaddexp(of_keys, sink_logit(scoring_, of_keys.squeeze(-1)).unsqueeze(-1));
  RowSums sums{.lse = log_sum(all), .delta = column(delta)};
  if (!of_lse.defined()) return sums;
  sums.lse_of_keys = log_sum(of_keys);
  sums.of_lse = column(of_lse);
  return sums;
}

Blockwise::Gradients Blockwise::backward(const Result& result, const at::Tensor& dy, const at::Tensor& dlse) const {
  const auto zeros = [](const at::Tensor& x) {  // in the precision of the sums
    return at::zeros(x.sizes(), x.options().dtype(wide(x.scalar_type())));
  };
  Gradients gradients{.q = at::zeros_like(q_), .k = zeros(k_), .v = zeros(v_)};
  gradients.learned.resize(learned_.size());
  if (scoring_.sink.defined()) gradients.sink = zeros(scoring_.sink);
  for (const auto& block : blocks_) {
    if (block.keys.empty()) continue;
    const auto rows_dy = dy.defined() ? queries_of(dy, block) : at::zeros_like(queries_of(result.y, block));
    const auto sums = sigmoid() ? RowSums{} : row_sums(block, result, rows_dy, dlse, gradients);
    rows_backward(block, rows_dy, sums, gradients);
  }
  gradients.k = gradients.k.to(k_.scalar_type());
  gradients.v = gradients.v.to(v_.scalar_type());
  for (std::size_t i = 0; i < learned_.size(); ++i) {
    auto& sum = gradients.learned[i];  // undefined where nothing is visible at all
    sum = sum.defined() ? sum.to(learned_[i].scalar_type()) : at::zeros_like(learned_[i]);
  }
  if (gradients.sink.defined()) gradients.sink = gradients.sink.to(scoring_.sink.scalar_type());
  return gradients;
}

}  // namespace headwright::core

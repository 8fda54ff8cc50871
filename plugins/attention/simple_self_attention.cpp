// Attention without anything to learn: each token becomes the average of all tokens, weighted by similarity.
//
//   scores_ij = x_i . x_j,   weights_i = softmax_j(scores_ij),   context_i = sum_j weights_ij x_j
//
// Source: dot-product attention, Luong et al. 2015, arXiv:1508.04025, section 3.1.
// Cost:   O(seq^2 d_model).
#include "headwright/plugin.h"

namespace {

class SimpleSelfAttention final : public headwright::Attention {
 public:
  static constexpr auto kSummary = "dot product, softmax, weighted sum; no weight parameters";
  static constexpr auto kSource = "arXiv:1508.04025, section 3.1";

  struct Params {
    std::string form = "matrix";

    static constexpr auto fields() {
      return std::tuple{headwright::field("form", &Params::form, "three matrix products, or the same by explicit loops",
                                          headwright::one_of("matrix", "loop") | headwright::same_result())};
    }
  };

  static headwright::Claims claims(const headwright::Dims&, const Params& params) {
    return {.key_mask = true, .dynamic_export = params.form != "loop", .cost = "O(seq^2 d_model)"};
  }

  SimpleSelfAttention(const headwright::Dims&, const Params& params) : loop_(params.form == "loop") {}

  at::Tensor forward(const headwright::Inputs& inputs) override {
    const auto x = headwright::wide(inputs.x);
    const auto scores = loop_ ? loop_scores(x) : x.matmul(x.transpose(-2, -1));  // (batch, seq, seq)
    const auto visible = inputs.key_mask.defined() ? inputs.key_mask.unsqueeze(1) : at::Tensor();
    const auto weights = headwright::masked_softmax(scores, visible);
    const auto sums = loop_ ? loop_sum(weights, x) : weights.matmul(x);
    const auto context = sums.to(inputs.x.scalar_type());  // (batch, seq, d_model)
    note(inputs, "scores", "dot product of each token with each token", [&] { return scores; });
    note(inputs, "weights", "attention weights: each row of scores as shares of 1", [&] { return weights; });
    note(inputs, "context", "each token as the weighted sum of all tokens", [&] { return context; });
    return context;
  }

 private:
  /// Query by query, key by key: what the matrix product does at once. The number of steps is baked into an export.
  static at::Tensor loop_scores(const at::Tensor& x) {
    std::vector<at::Tensor> rows;
    for (const auto& query : x.unbind(1)) {  // (batch, d_model)
      std::vector<at::Tensor> row;
      for (const auto& key : x.unbind(1)) row.push_back((query * key).sum(-1));  // (batch)
      rows.push_back(at::stack(row, -1));                                        // (batch, seq)
    }
    return rows.empty() ? x.matmul(x.transpose(-2, -1)) : at::stack(rows, 1);  // (batch, seq, seq)
  }

  static at::Tensor loop_sum(const at::Tensor& weights, const at::Tensor& x) {
    const auto tokens = x.unbind(1);
    std::vector<at::Tensor> rows;
    for (const auto& row : weights.unbind(1)) {  // (batch, seq)
      auto sum = at::zeros_like(tokens[0]);      // (batch, d_model)
      for (std::size_t j = 0; j < tokens.size(); ++j) {
        sum = sum + row.select(-1, static_cast<std::int64_t>(j)).unsqueeze(-1) * tokens[j];
      }
      rows.push_back(sum);
    }
    return rows.empty() ? x : at::stack(rows, 1);  // (batch, seq, d_model)
  }

  const bool loop_;
};

}  // namespace

HEADWRIGHT_PLUGIN("simple_self_attention", SimpleSelfAttention);

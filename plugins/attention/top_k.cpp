// Top-k attention: a query attends to the keys with its k largest scores alone.
//
//   y_i = sum_j softmax_j(scale q_i . k_j) v_j   over the n_keys largest scores among the keys that the mask shows to i
//
// Of equal scores the earlier key is kept; a query that sees no more than n_keys attends to all of them.
// Source: Gupta et al. 2021, arXiv:2106.06899, section 3.
// Cost:   O(seq^2 (d_model + n_heads log seq)), with all scores in memory.
#include <limits>

#include "headwright/plugin.h"

namespace {

class TopK final : public headwright::QkvAttention {
 public:
  static constexpr auto kSummary = "softmax over the largest scores of each query alone";
  static constexpr auto kSource = "arXiv:2106.06899, section 3";

  struct Params : headwright::ScoreOptions {
    std::int64_t n_keys = 0;

    static constexpr auto fields() {
      using headwright::field;
      return std::tuple_cat(
          std::tuple{
              field("n_keys", &Params::n_keys, "keys that a query attends to",
                    headwright::required() | headwright::at_least(1)),
              headwright::kMaskRow,
              headwright::kModifiersRow,
              headwright::kBiasOrderRow,
              headwright::kScaleRow,
              headwright::kDropoutRow,
          },
          headwright::qkv_fields());
    }
  };

  static headwright::Claims claims(const headwright::Dims& dims, const Params& params) {
    auto claims = score_claims(dims, params);
    claims.core = false;  // no kernel sorts
    claims.cost = "O(seq^2 (d_model + n_heads log seq))";
    return claims;
  }

  static void check(const headwright::Dims& dims, const Params& params, headwright::Issues& issues) {
    check_scores(dims, params, issues);
  }

  TopK(const headwright::Dims& dims, const Params& params) : QkvAttention(dims, params), params_(params) {}

  headwright::Mask mask() const override { return params_.mask; }

 protected:
  at::Tensor mix(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                 const headwright::Inputs& inputs) override {
    const auto scoring = this->scoring(inputs, params_);
    const auto scores = attention_scores(q, k, scoring);  // in float32: half types would tie scores that differ
    auto weights = headwright::masked_softmax(scores, kept(scores, visible_keys(q, k, scoring)));
    note(inputs, "weights", "share of each key in a token's output, 0 for all but n_keys",
         [&] { return weights.to(q.scalar_type()); });
    if (scoring.dropout > 0) weights = at::dropout(weights, scoring.dropout, true);
    return headwright::weighted_values(weights, v);  // (batch, n_heads, seq, d_head)
  }

 private:
  /// The n_keys largest of each row among the visible.
  at::Tensor kept(const at::Tensor& scores, const at::Tensor& visible) const {
    auto ranked = scores.detach();
    if (visible.defined()) ranked = ranked.masked_fill(visible.logical_not(), -std::numeric_limits<double>::infinity());
    const auto order = std::get<1>(ranked.sort(/*stable=*/true, -1, /*descending=*/true));
    const auto largest = at::zeros_like(ranked, at::kBool).scatter(-1, order.slice(-1, 0, params_.n_keys), 1);
    return visible.defined() ? largest.logical_and(visible) : largest;  // (batch, n_heads, seq, keys)
  }

  const Params params_;
};

}  // namespace

HEADWRIGHT_PLUGIN("top_k", TopK);

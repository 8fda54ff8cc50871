// Scaled dot-product attention, the production form: multi-head, grouped or multi-query, self- or cross-attention.
//
//   y_i = sum_j softmax_j(m(scale q_i . k_j)) v_j   over the keys j that the mask shows to i; m: the modifiers
//
// Source: Vaswani et al. 2017, arXiv:1706.03762, section 3.2; grouped queries: Ainslie et al. 2023, arXiv:2305.13245;
//         learned sink: OpenAI 2025, arXiv:2508.10925 (gpt-oss), section 2.
// Cost:   O(seq^2 d_model), or O(seq visible d_model) where the mask shows few keys.
#include "headwright/plugin.h"

namespace {

using namespace headwright;

class Softmax final : public QkvAttention {
 public:
  static constexpr auto kSummary = "scaled dot-product attention with masks, grouped heads and cross-attention";
  static constexpr auto kSource = "arXiv:1706.03762, section 3.2";

  struct Params : ScoreOptions {
    std::string normaliser = "softmax";
    bool sink = false;

    static constexpr auto fields() {
      return std::tuple_cat(
          std::tuple{
              kMaskRow,
              kModifiersRow,
              kBiasOrderRow,
              field("normaliser", &Params::normaliser,
                    "softmax, or softmax_one whose rows may sum to less than 1: exp(s) / (1 + sum exp(s))",
                    one_of("softmax", "softmax_one")),
              field("sink", &Params::sink, "let a learned logit per head join the softmax and drop it afterwards"),
              kScaleRow,
              kDropoutRow,
          },
          qkv_fields());
    }
  };

  static Claims claims(const Dims& dims, const Params& params) {
    auto claims = score_claims(dims, params);
    if (params.mask.is_sparse()) claims.cost = "O(seq visible d_model)";
    return claims;
  }

  static void check(const Dims& dims, const Params& params, Issues& issues) {
    check_scores(dims, params, issues);
    if (params.sink && params.normaliser != "softmax") {
      issues.add("sink", "is one already in normaliser: softmax_one, where its logit is 0");
    }
  }

  Softmax(const Dims& dims, const Params& params) : QkvAttention(dims, params), params_(params) {
    if (params.sink) sink_ = register_parameter("sink", at::zeros({dims_.n_heads}));
  }

  KernelChoice kernel() const override { return choose_kernel(scoring_of({})); }

  Mask mask() const override { return params_.mask; }

 protected:
  at::Tensor mix(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const Inputs& inputs) override {
    return attend(inputs, q, k, v, scoring_of(inputs)).y;  // (batch, n_heads, seq, d_head)
  }

 private:
  Scoring scoring_of(const Inputs& inputs) const {
    auto scoring = this->scoring(inputs, params_);
    scoring.sink = sink_;
    if (params_.normaliser == "softmax_one") scoring.normaliser = Normaliser::softmax_one;
    return scoring;
  }

  const Params params_;
  at::Tensor sink_;  // (n_heads)
};

}  // namespace

HEADWRIGHT_PLUGIN("softmax", Softmax);

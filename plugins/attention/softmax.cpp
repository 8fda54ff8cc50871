// Scaled dot-product attention, the production form: multi-head, grouped or multi-query, self- or cross-attention.
//
//   y_i = sum_j softmax_j(scale q_i . k_j) v_j   over the keys j that the mask shows to i
//
// Source: Vaswani et al. 2017, arXiv:1706.03762, section 3.2; grouped queries: Ainslie et al. 2023, arXiv:2305.13245.
// Cost:   O(seq^2 d_model).
#include "headwright/plugin.h"

namespace {

class Softmax final : public headwright::QkvAttention {
 public:
  static constexpr auto kSummary = "scaled dot-product attention with masks, grouped heads and cross-attention";
  static constexpr auto kSource = "arXiv:1706.03762, section 3.2";

  struct Params : headwright::QkvOptions {
    headwright::Mask mask;
    std::vector<headwright::ScoreModifier> modifiers;
    std::optional<double> scale;
    double dropout = 0;

    static constexpr auto fields() {
      using headwright::field;
      return std::tuple{
          field("mask", &Params::mask, "which keys a query sees"),
          field("modifiers", &Params::modifiers, "changes to the scores before the mask, in their order"),
          field("scale", &Params::scale, "factor on q . k; absent = 1 / sqrt(d_head)", headwright::positive()),
          field("dropout", &Params::dropout, "probability of dropping a weight in training", headwright::probability()),
          field("qkv_bias", &Params::qkv_bias, "if the projections of q, k and v add a bias"),
          field("out_bias", &Params::out_bias, "if the output projection adds a bias"),
          field("cross", &Params::cross, "if keys and values come from the context"),
          field("position", &Params::position, "rotates q and k", headwright::component_of(headwright::Kind::position)),
      };
    }
  };

  static headwright::Claims claims(const headwright::Dims&, const Params& params) {
    return {.causal = params.mask.hides_future() && !params.cross,
            .context = params.cross,
            .key_mask = true,
            .core = true,
            .cost = "O(seq^2 d_model)"};
  }

  static void check(const headwright::Dims& dims, const Params& params, headwright::Complaints& complaints) {
    const auto* position = params.position.variant;
    if (position != nullptr && !position->claims(dims, params.position.values).rotate) {
      complaints.add("position", "got '" + position->name + "', which does not rotate q and k; expected one that does");
    }
  }

  Softmax(const headwright::Dims& dims, const Params& params) : QkvAttention(dims, params), params_(params) {}

  headwright::KernelChoice kernel() const override { return choose_kernel(scoring_of({})); }

 protected:
  at::Tensor mix(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                 const headwright::Inputs& inputs) override {
    const auto scoring = scoring_of(inputs);
    note(inputs, "weights", "share of each key in a token's output", [&] { return attention_weights(q, k, scoring); });
    return attend(q, k, v, scoring).y;  // (batch, n_heads, seq, d_head)
  }

 private:
  headwright::Scoring scoring_of(const headwright::Inputs& inputs) const {
    auto scoring = this->scoring(inputs);
    scoring.scale = params_.scale;
    scoring.mask = params_.mask;
    scoring.modifiers = params_.modifiers;
    scoring.dropout = is_training() ? params_.dropout : 0;
    return scoring;
  }

  const Params params_;
};

}  // namespace

HEADWRIGHT_PLUGIN("softmax", Softmax);

// Talking-heads attention: heads are mixed before the softmax and after it, so that they can agree on what to look at.
//
//   y_g = sum_h P_hg softmax(sum_f L_fh q_f k_f^T / sqrt(d_head)) v_g   over the keys that the mask shows
//
// The weights are never stored: each head sums the values of all heads, and P mixes these sums, which is the same.
// Source: Shazeer et al. 2020, arXiv:2003.02436, section 3.
// Cost:   O(seq^2 d_model n_kv_heads): the price of any mask and kernel.
#include "headwright/plugin.h"

namespace {

using namespace headwright;

class TalkingHeads final : public QkvAttention {
 public:
  static constexpr auto kSummary = "attention whose heads are mixed before and after the softmax";
  static constexpr auto kSource = "arXiv:2003.02436, section 3";

  struct Params : ScoreOptions {
    static constexpr auto fields() {
      return std::tuple_cat(std::tuple{kMaskRow, kScaleRow, kDropoutRow}, qkv_fields());
    }
  };

  static Claims claims(const Dims& dims, const Params& params) {
    auto claims = score_claims(dims, params);
    claims.cost = "O(seq^2 d_model n_kv_heads)";
    return claims;
  }

  static void check(const Dims& dims, const Params& params, Issues& issues) { check_scores(dims, params, issues); }

  TalkingHeads(const Dims& dims, const Params& params) : QkvAttention(dims, params), params_(params) {
    // Before training each head is on its own.
    logits_mix_ = register_parameter("logits_mix", at::eye(dims_.n_heads));
    weights_mix_ = register_parameter("weights_mix", at::eye(dims_.n_heads));
  }

  KernelChoice kernel() const override { return choose_kernel(scoring_of({})); }

  Mask mask() const override { return params_.mask; }

 protected:
  at::Tensor mix(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const Inputs& inputs) override {
    const auto scoring = scoring_of(inputs);
    const auto all_values = merge_heads(v).unsqueeze(1).expand({-1, dims_.n_kv_heads, -1, -1});
    const auto attended = attend(q, k, all_values, scoring);  // (batch, n_heads, seq, n_kv_heads * d_head)
    note_mixed_weights(inputs, q, k, scoring);
    const auto sums = attended.y.unflatten(-1, {dims_.n_kv_heads, dims_.d_head});
    const auto mix = weights_mix_.unflatten(1, {dims_.n_kv_heads, dims_.n_heads / dims_.n_kv_heads});
    return at::einsum("bhigd,hgr->bgrid", {sums, mix}).flatten(1, 2);  // (batch, n_heads, seq, d_head)
  }

 private:
  void note_mixed_weights(const Inputs& inputs, const at::Tensor& q, const at::Tensor& k,
                          const Scoring& scoring) const {
    note(inputs, "weights", "share of each key in a token's output, heads mixed", [&] {
      auto choice = inputs.recorder->weight_choice();
      const auto heads = std::exchange(choice.heads, {});  // each mixed head needs all of them
      const auto weights = at::einsum("bhij,hg->bgij", {attention_weights(q, k, scoring, choice), weights_mix_});
      return heads.empty() ? weights : weights.index_select(1, at::tensor(heads, at::kLong).to(weights.device()));
    });
  }

  Scoring scoring_of(const Inputs& inputs) const {
    auto scoring = this->scoring(inputs, params_);
    const auto mix = logits_mix_;
    scoring.modifiers.push_back(
        modifier("talking_heads",
                 [mix](const at::Tensor& scores, const ScorePositions&) {
                   return at::einsum("bhij,hg->bgij", {scores, mix.to(scores.dtype())}).contiguous();
                 },
                 {mix}));
    return scoring;
  }

  const Params params_;
  at::Tensor logits_mix_, weights_mix_;  // (n_heads, n_heads): from head, to head
};

}  // namespace

HEADWRIGHT_PLUGIN("talking_heads", TalkingHeads);

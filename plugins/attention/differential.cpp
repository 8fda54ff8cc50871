// Differential attention: each head has two softmax maps, and the second one, as the noise that both share, is taken
// off the first.
//
//   y_i = sum_j (softmax_j(q1_i . k1_j / sqrt(d)) - lambda softmax_j(q2_i . k2_j / sqrt(d))) v_j,   d = d_head / 2
//   lambda = exp(lambda_q1 . lambda_k1) - exp(lambda_q2 . lambda_k2) + lambda_init
//   head = (1 - lambda_init) norm(y),   lambda_init = 0.8 - 0.6 exp(-0.3 layer)
//
// Source: Ye et al. 2024, arXiv:2410.05258, section 2.1.
// Cost:   O(seq^2 d_model).
#include "headwright/plugin.h"

namespace {

/// Two queries and keys of half the width stand for each head: they are projected, normed and rotated as 2 n_heads
/// heads.
class Differential final : public headwright::QkvAttention {
 public:
  static constexpr auto kSummary = "the difference of two softmax maps per head";
  static constexpr auto kSource = "arXiv:2410.05258, section 2.1";

  struct Params : headwright::ScoreOptions {
    std::optional<double> lambda_init;
    double norm_eps = 1e-5;

    static constexpr auto fields() {
      using headwright::field;
      return std::tuple_cat(
          std::tuple{
              headwright::kMaskRow,
              field("modifiers", &Params::modifiers,
                    "changes to the scores of both maps before the mask, in their order"),
              field("scale", &Params::scale, "factor on q . k; absent = 1 / sqrt(d_head / 2)", headwright::positive()),
              field("lambda_init", &Params::lambda_init,
                    "share of the second map before training; absent = 0.8 - 0.6 exp(-0.3 layer)",
                    headwright::at_least(0) | headwright::less_than(1)),
              field("norm_eps", &Params::norm_eps, "added to the mean square in the norm of each head",
                    headwright::positive()),
              field("dropout", &Params::dropout, "probability of dropping a weight of either map in training",
                    headwright::probability()),
          },
          headwright::qkv_fields());
    }
  };

  static headwright::Claims claims(const headwright::Dims& dims, const Params& params) {
    return score_claims(dims, params);
  }

  static void check(const headwright::Dims& dims, const Params& params, headwright::Issues& issues) {
    const auto d_head = d_head_of(dims);
    if (d_head % 2 != 0 || d_head == 0) {
      issues.add("d_head", "got " + std::to_string(d_head) + ", expected an even number: one half for each map");
      return;
    }
    const auto halves = halved(dims);
    check_scores(halves, params, issues);
    const auto* position = params.position.variant;
    if (position != nullptr && position->claims(halves, params.position.values).bias) {
      issues.add("position", "got '" + position->name + "', which changes scores; differential takes one that rotates");
    }
  }

  static double lambda_init(const headwright::Dims& dims, const Params& params) {
    return params.lambda_init.value_or(0.8 - 0.6 * std::exp(-0.3 * static_cast<double>(dims.layer)));
  }

  static headwright::ParamMap effective(const headwright::Dims& dims, const Params& params) {
    const auto share = lambda_init(dims, params);
    if (params.qk_norm == "l2") return {{"lambda_init", {share}}};  // whose scale is learned
    return {{"lambda_init", {share}}, {"scale", {1 / std::sqrt(static_cast<double>(halved(dims).d_head))}}};
  }

  Differential(const headwright::Dims& dims, const Params& params)
      : QkvAttention(halved(dims), params),
        params_(params),
        d_head_(d_head_of(dims)),
        lambda_init_(lambda_init(dims, params)) {
    for (auto [name, vector] : {std::pair{"lambda_q1", &lambda_q1_},
                                {"lambda_k1", &lambda_k1_},
                                {"lambda_q2", &lambda_q2_},
                                {"lambda_k2", &lambda_k2_}}) {
      *vector = register_parameter(name, at::randn({d_head_ / 2}) * 0.1);
    }
    sub_norm_ = register_parameter("sub_norm", at::ones({d_head_}));
  }

  headwright::KernelChoice kernel() const override { return choose_kernel(scoring({}, params_)); }

  headwright::Mask mask() const override { return params_.mask; }

 protected:
  at::Tensor mix(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                 const headwright::Inputs& inputs) override {
    // Heads 2h and 2h + 1 are the two of head h; its value is as wide as both.
    const auto q1 = every_other_head(q, 0), q2 = every_other_head(q, 1);  // (batch, n_heads, seq, d_head / 2)
    const auto k1 = every_other_head(k, 0), k2 = every_other_head(k, 1);
    const auto values = v.unflatten(1, {dims_.n_kv_heads / 2, 2}).transpose(2, 3).flatten(-2);
    const auto scoring = this->scoring(inputs, params_);
    const auto lambda = this->lambda();
    note(inputs, "lambda", "factor on the second map", [&] { return lambda; });
    note(inputs, "weights", "share of each key in a token's output, first map minus lambda times the second", [&] {
      const auto& choice = inputs.recorder->weight_choice();
      return attention_weights(q1, k1, scoring, choice) - lambda * attention_weights(q2, k2, scoring, choice);
    });
    const auto y = attend(q1, k1, values, scoring).y - lambda * attend(q2, k2, values, scoring).y;
    return at::rms_norm(y, {d_head_}, sub_norm_, params_.norm_eps) *
           (1 - lambda_init_);  // (batch, n_heads, seq, d_head)
  }

 private:
  static headwright::Dims halved(headwright::Dims dims) {
    dims.d_head = d_head_of(dims) / 2;
    dims.n_heads *= 2;
    dims.n_kv_heads *= 2;
    return dims;
  }

  static at::Tensor every_other_head(const at::Tensor& x, std::int64_t first) {
    return x.slice(1, first, std::nullopt, 2);
  }

  at::Tensor lambda() const {
    const auto exp_of_product = [](const at::Tensor& a, const at::Tensor& b) {
      return (headwright::wide(a) * headwright::wide(b)).sum().exp();
    };
    return exp_of_product(lambda_q1_, lambda_k1_) - exp_of_product(lambda_q2_, lambda_k2_) + lambda_init_;
  }

  const Params params_;
  const std::int64_t d_head_;
  const double lambda_init_;
  at::Tensor lambda_q1_, lambda_k1_, lambda_q2_, lambda_k2_;  // (d_head / 2)
  at::Tensor sub_norm_;                                       // (d_head)
};

}  // namespace

HEADWRIGHT_PLUGIN("differential", Differential);

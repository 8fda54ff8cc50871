// Linear biases: a score falls with the distance of its two tokens, in each head at another slope. Nothing is learned,
// and there is no longest sequence.
//
//   s_ij <- s_ij - slope_h |i - j|
//   geometric: slope_h = 2^(-8 (h + 1) / H)
//   press:     that for H a power of two; else the slopes of the power of two below, then every other one of twice that
//
// Source: Press et al. 2022, arXiv:2108.12409, section 3.
// Cost:   O(seq^2 n_heads).
#include "headwright/plugin.h"

namespace {

class Alibi final : public headwright::Position {
 public:
  static constexpr auto kSummary = "scores fall linearly with the distance, in each head at another slope";
  static constexpr auto kSource = "arXiv:2108.12409, section 3";

  struct Params {
    std::string slopes = "press";

    static constexpr auto fields() {
      return std::tuple{headwright::field("slopes", &Params::slopes,
                                          "of a number of heads that is no power of two: press = as published, "
                                          "geometric = one formula for all",
                                          headwright::one_of("press", "geometric"))};
    }
  };

  static headwright::Claims claims(const headwright::Dims&, const Params&) {
    return {.bias = true, .cost = "O(seq^2 n_heads)"};
  }

  static void check(const headwright::Dims& dims, const Params& params, headwright::Issues& issues) {
    const bool power_of_two = (dims.n_heads & (dims.n_heads - 1)) == 0;
    if (params.slopes == "press" || !power_of_two) return;
    issues.add("slopes", "got geometric, which has no effect with n_heads = " + std::to_string(dims.n_heads) +
                             ", a power of two; leave it out");
  }

  Alibi(const headwright::Dims& dims, const Params& params) {
    const auto heads = dims.n_heads;
    // slope_h = 2^(-8 steps_h / n_steps). Whole numbers keep their value in every dtype that a model is cast to.
    if (params.slopes == "geometric") {
      n_steps_ = heads;
      steps_ = register_buffer("steps", at::arange(1, heads + 1));
      return;
    }
    std::int64_t below = 1;
    while (2 * below <= heads) below *= 2;
    n_steps_ = 2 * below;
    const auto of_power = at::arange(1, below + 1) * 2, between = at::arange(heads - below) * 2 + 1;
    steps_ = register_buffer("steps", at::cat({of_power, between}));
  }

  headwright::ScoreModifier bias() const override {
    const auto wide = steps_.to(steps_.is_mps() ? at::kFloat : at::kDouble);
    return headwright::alibi((wide * (-8.0 / static_cast<double>(n_steps_))).exp2());  // (n_heads)
  }

 private:
  std::int64_t n_steps_;
  at::Tensor steps_;  // (n_heads)
};

}  // namespace

HEADWRIGHT_PLUGIN("alibi", Alibi);

// Rotary positions: each pair of channels of q and k is turned by an angle that grows with the position, so that a
// score depends on how far apart its two tokens stand.
//
//   (a, b) -> (a cos t - b sin t, a sin t + b cos t)   for pair i of d / 2,   t = position rate_i
//
//   rate_i = base^(-2i / d)
//   linear:  rate_i / factor
//   yarn:    g_i rate_i + (1 - g_i) rate_i / factor, and turned pairs are longer by the factor 0.1 ln(factor) + 1;
//            g_i rises from 0 to 1 while the turns of the pair in the original context of L tokens,
//            L rate_i / (2 pi), go from beta_slow to beta_fast
//
// Source: Su et al. 2021, arXiv:2104.09864, section 3.2; linear: Chen et al. 2023, arXiv:2306.15595, section 2.3;
//         yarn: Peng et al. 2023, arXiv:2309.00071, section 3.
// Cost:   O(seq n_heads d_head).
#include <numbers>

#include "headwright/plugin.h"

namespace {

class Rope final : public headwright::Position {
 public:
  static constexpr auto kSummary = "pairs of channels of q and k turned by the position";
  static constexpr auto kSource = "arXiv:2104.09864, section 3.2";

  struct Params {
    std::string arrangement = "half";
    double fraction = 1;
    double base = 10000;
    std::string scaling = "none";
    std::optional<double> factor;
    std::optional<std::int64_t> original_context_length;
    std::optional<double> beta_fast, beta_slow;
    std::optional<std::string> ramp;
    std::optional<double> attention_factor;

    static constexpr auto fields() {
      using headwright::field;
      return std::tuple{
          field("arrangement", &Params::arrangement,
                "pairs: half = channels i and i + d / 2, interleaved = 2i and 2i + 1",
                headwright::one_of("half", "interleaved")),
          field("fraction", &Params::fraction, "share of a head's channels, from the first, that are turned",
                headwright::positive() | headwright::between(0, 1)),
          field("base", &Params::base, "pair i of d turned channels turns by base^(-2i / d) per position",
                headwright::greater_than(1)),
          field("scaling", &Params::scaling, "how the angles serve a longer context than the trained one",
                headwright::one_of("none", "linear", "yarn")),
          field("factor", &Params::factor, "longer context / trained context, under linear and yarn",
                headwright::at_least(1)),
          field("original_context_length", &Params::original_context_length, "trained context, in tokens, under yarn",
                headwright::at_least(1)),
          field("beta_fast", &Params::beta_fast,
                "pairs with at least as many turns in the trained context keep their rate, under yarn; absent = 32",
                headwright::positive()),
          field("beta_slow", &Params::beta_slow,
                "pairs with at most as many turns in the trained context turn factor times slower, under yarn; absent "
                "= 1",
                headwright::positive()),
          field("ramp", &Params::ramp,
                "what the slowing grows with between the betas, under yarn: turns, as in the paper; pairs, by index; "
                "whole_pairs, by index between whole ones, as in most checkpoints; absent = turns",
                headwright::one_of("turns", "pairs", "whole_pairs")),
          field("attention_factor", &Params::attention_factor,
                "length of a turned pair of q and of k, under yarn; absent = 0.1 ln(factor) + 1",
                headwright::positive()),
      };
    }
  };

  static headwright::Claims claims(const headwright::Dims&, const Params&) {
    return {.rotate = true, .cost = "O(seq n_heads d_head)"};
  }

  static void check(const headwright::Dims& dims, const Params& params, headwright::Issues& issues) {
    const auto turned = turned_channels(dims, params);
    if (turned < 2 || turned % 2 != 0) {
      issues.add("fraction", "turns the first " + std::to_string(turned) + " of d_head = " +
                                 std::to_string(d_head_of(dims)) + " channels, expected an even number, at least 2");
    }
    const bool yarn = params.scaling == "yarn";
    const auto only_under = [&](const char* name, bool given, bool honoured, const char* under) {
      if (given && !honoured) issues.add(name, std::string("has no effect without scaling: ") + under);
    };
    only_under("factor", params.factor.has_value(), params.scaling != "none", "linear or yarn");
    only_under("original_context_length", params.original_context_length.has_value(), yarn, "yarn");
    only_under("beta_fast", params.beta_fast.has_value(), yarn, "yarn");
    only_under("beta_slow", params.beta_slow.has_value(), yarn, "yarn");
    only_under("ramp", params.ramp.has_value(), yarn, "yarn");
    only_under("attention_factor", params.attention_factor.has_value(), yarn, "yarn");
    if (params.scaling != "none" && !params.factor) issues.add("factor", "missing; " + params.scaling + " needs it");
    if (yarn && !params.original_context_length) issues.add("original_context_length", "missing; yarn needs it");
    if (beta_slow(params) >= beta_fast(params)) {
      issues.add(params.beta_slow ? "beta_slow" : "beta_fast", "expected beta_slow less than beta_fast");
    }
  }

  Rope(const headwright::Dims& dims, const Params& params)
      : params_(params), n_turned_(turned_channels(dims, params)), d_head_(d_head_of(dims)) {}

  std::pair<at::Tensor, at::Tensor> rotate(const at::Tensor& q, const at::Tensor& k, const at::Tensor& q_positions,
                                           const at::Tensor& k_positions) override {
    if (q.size(-1) != d_head_) headwright::refuse_shape("rope", "q", q, "d_head = " + std::to_string(d_head_));
    if (k.size(-1) != d_head_) headwright::refuse_shape("rope", "k", k, "d_head = " + std::to_string(d_head_));
    const auto rates = this->rates(q);
    const auto q_turn = turn_at(q_positions, rates, q.scalar_type());
    const auto k_turn = k_positions.is_same(q_positions) ? q_turn : turn_at(k_positions, rates, k.scalar_type());
    return {turned(q, q_turn), turned(k, k_turn)};
  }

 private:
  struct Turn {
    at::Tensor cos, sin;  // (seq, pairs) or (batch, 1, seq, pairs)
  };

  static std::int64_t turned_channels(const headwright::Dims& dims, const Params& params) {
    return static_cast<std::int64_t>(params.fraction * static_cast<double>(d_head_of(dims)));
  }
  static double beta_fast(const Params& params) { return params.beta_fast.value_or(32); }
  static double beta_slow(const Params& params) { return params.beta_slow.value_or(1); }

  /// Radians per position of each pair: (pairs). Counted along q's channels, so that no constant ties an export to a
  /// device; in float64 where the device knows it, since angles need more digits than half types have.
  at::Tensor rates(const at::Tensor& q) const {
    const auto channels = headwright::positions_along(q, -1).slice(0, 0, n_turned_, 2);  // 0, 2, 4, ...
    const auto wide = channels.to(q.is_mps() ? at::kFloat : at::kDouble);
    const auto plain = (wide * (-std::log(params_.base) / static_cast<double>(n_turned_))).exp();
    if (params_.scaling == "none") return plain;
    const auto slowed = plain / params_.factor.value_or(1);
    if (params_.scaling == "linear") return slowed;
    const auto kept = kept_share(wide / 2, plain);
    return kept * plain + (1 - kept) * slowed;
  }

  /// g of yarn: (pairs)
  at::Tensor kept_share(const at::Tensor& pair, const at::Tensor& rates) const {
    const auto fast = beta_fast(params_), slow = beta_slow(params_);
    const auto circles = static_cast<double>(params_.original_context_length.value_or(1)) / (2 * std::numbers::pi);
    const auto ramp = params_.ramp.value_or("turns");
    if (ramp == "turns") return ((circles * rates - slow) / (fast - slow)).clamp(0, 1);
    // The pair, between whole ones, that makes so many turns.
    const auto channels = static_cast<double>(n_turned_);
    const auto pair_with = [&](double turns) {
      return channels * std::log(circles / turns) / (2 * std::log(params_.base));
    };
    auto first = pair_with(fast), last = pair_with(slow);
    if (ramp == "whole_pairs") {
      first = std::floor(first);
      last = std::ceil(last);
    }
    first = std::max(first, 0.0);
    last = std::min(last, channels - 1);
    if (last <= first) last = first + 1e-3;  // a step
    return 1 - ((pair - first) / (last - first)).clamp(0, 1);
  }

  /// positions: (seq) or (batch, seq)
  Turn turn_at(const at::Tensor& positions, const at::Tensor& rates, at::ScalarType dtype) const {
    auto angles = positions.unsqueeze(-1).to(rates.scalar_type()) * rates;
    if (angles.dim() == 3) angles = angles.unsqueeze(1);  // the same for all heads
    const bool yarn = params_.scaling == "yarn";
    const auto length = yarn ? params_.attention_factor.value_or(0.1 * std::log(params_.factor.value_or(1)) + 1) : 1.0;
    return {(angles.cos() * length).to(dtype), (angles.sin() * length).to(dtype)};
  }

  at::Tensor turned(const at::Tensor& x, const Turn& turn) const {
    const auto first = x.slice(-1, 0, n_turned_);
    const auto rest = x.slice(-1, n_turned_);
    if (params_.arrangement == "interleaved") {
      const auto pairs = first.unflatten(-1, {n_turned_ / 2, 2});  // (batch, heads, seq, pairs, 2)
      const auto a = pairs.select(-1, 0), b = pairs.select(-1, 1);
      const auto both = at::stack({a * turn.cos - b * turn.sin, a * turn.sin + b * turn.cos}, -1).flatten(-2);
      return at::cat({both, rest}, -1);  // (batch, heads, seq, d_head)
    }
    const auto a = first.slice(-1, 0, n_turned_ / 2), b = first.slice(-1, n_turned_ / 2);
    return at::cat({a * turn.cos - b * turn.sin, a * turn.sin + b * turn.cos, rest}, -1);
  }

  const Params params_;
  const std::int64_t n_turned_, d_head_;
};

}  // namespace

HEADWRIGHT_PLUGIN("rope", Rope);

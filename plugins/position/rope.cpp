// Rotary positions: each pair of channels of q and k is turned by an angle that grows with the position, so that a
// score depends on how far apart its two tokens stand.
//
//   (a, b) -> (a cos t - b sin t, a sin t + b cos t)   for pair i of d / 2,   t = position rate_i
//
//   rate_i = theta^(-2i / d)
//   linear:   rate_i / factor
//   dynamic:  rate_i of theta (factor n / L - (factor - 1))^(d / (d - 2)); n = tokens up to the last position, at
//             least the L of the original context
//   yarn:     g_i rate_i + (1 - g_i) rate_i / factor, and turned pairs are longer by the factor 0.1 ln(factor) + 1;
//             g_i rises from 0 to 1 while the turns of the pair in the original context, L rate_i / (2 pi), go from
//             beta_slow to beta_fast
//   llama3:   the same with low_freq_factor and high_freq_factor for the betas, and no pair is longer
//   longrope: rate_i / short_factor_i, or rate_i / long_factor_i once n > L, and turned pairs are longer by
//             sqrt(1 + ln(factor) / ln(L))
//
// Source: Su et al. 2021, arXiv:2104.09864, section 3.2; linear: Chen et al. 2023, arXiv:2306.15595, section 2.3;
//         dynamic: as in transformers, after bloc97 2023; yarn: Peng et al. 2023, arXiv:2309.00071, section 3;
//         llama3: Llama 3.1, as in transformers; longrope: Ding et al. 2024, arXiv:2402.13753, and Phi-3.
// Cost:   O(seq n_heads d_head).
#include <numbers>

#include "headwright/plugin.h"

namespace {

class Rope final : public headwright::Position {
 public:
  static constexpr auto kSummary = "rotary position embedding: pairs of channels of q and k turned by the position";
  static constexpr auto kSource = "arXiv:2104.09864, section 3.2";

  struct Params {
    std::string layout = "half";
    double partial_rotary_factor = 1;
    double theta = 10000;
    std::string scaling = "none";
    std::optional<double> factor;
    std::optional<std::int64_t> original_context_length;
    std::optional<double> beta_fast, beta_slow;
    std::optional<std::string> ramp;
    std::optional<double> low_freq_factor, high_freq_factor;
    std::optional<std::vector<double>> short_factor, long_factor;
    std::optional<double> attention_factor;

    static constexpr auto fields() {
      using headwright::field;
      using headwright::positive;
      return std::tuple{
          field("layout", &Params::layout, "pairs: half = channels i and i + d / 2, interleaved = 2i and 2i + 1",
                headwright::one_of("half", "interleaved")),
          field("partial_rotary_factor", &Params::partial_rotary_factor,
                "share of a head's channels, from the first, that are turned", positive() | headwright::between(0, 1)),
          field("theta", &Params::theta, "pair i of d turned channels turns by theta^(-2i / d) per position",
                headwright::greater_than(1)),
          field("scaling", &Params::scaling, "how the angles serve a longer context than the trained one",
                headwright::one_of("none", "linear", "dynamic", "yarn", "llama3", "longrope")),
          field("factor", &Params::factor, "longer context / trained context, under every scaling",
                headwright::at_least(1)),
          field("original_context_length", &Params::original_context_length,
                "trained context, in tokens, under every scaling but linear", headwright::at_least(2)),
          field("beta_fast", &Params::beta_fast,
                "pairs with at least as many turns in the trained context keep their rate, under yarn; absent = 32",
                positive()),
          field("beta_slow", &Params::beta_slow,
                "pairs with at most as many turns in the trained context turn factor times slower, under yarn; absent "
                "= 1",
                positive()),
          field("ramp", &Params::ramp,
                "what the slowing grows with between the betas, under yarn: turns, as in the paper; pairs, by index; "
                "whole_pairs, by index between whole ones, as in most checkpoints; absent = turns",
                headwright::one_of("turns", "pairs", "whole_pairs")),
          field("low_freq_factor", &Params::low_freq_factor, "what beta_slow is, under llama3; absent = 1", positive()),
          field("high_freq_factor", &Params::high_freq_factor, "what beta_fast is, under llama3; absent = 4",
                positive()),
          field("short_factor", &Params::short_factor,
                "how much slower each pair turns within the trained context, under longrope", positive()),
          field("long_factor", &Params::long_factor,
                "how much slower each pair turns in a sequence beyond it, under longrope", positive()),
          field("attention_factor", &Params::attention_factor,
                "length of a turned pair of q and of k; absent = 0.1 ln(factor) + 1 under yarn, "
                "sqrt(1 + ln(factor) / ln(original_context_length)) under longrope",
                positive()),
      };
    }
  };

  static headwright::Claims claims(const headwright::Dims&, const Params& params) {
    return {.rotate = true, .cost = "O(seq n_heads d_head)", .by_length = by_length(params)};
  }

  static void check(const headwright::Dims& dims, const Params& params, headwright::Issues& issues) {
    check_channels(dims, params, issues);
    check_scaling(params, issues);
    const auto trained = params.original_context_length.value_or(0);
    if (by_length(params) && dims.context_length > 0 && trained >= dims.context_length) {
      issues.add("original_context_length", "got " + std::to_string(trained) + ", but no sequence is longer than " +
                                                "context_length = " + std::to_string(dims.context_length) +
                                                ", so that " + params.scaling + " has no effect");
    }
    if (params.scaling == "longrope") check_longrope(dims, params, issues);
    if (params.scaling == "yarn" && beta_slow(params) >= beta_fast(params)) {
      issues.add(params.beta_slow ? "beta_slow" : "beta_fast", "expected beta_slow less than beta_fast");
    }
    if (params.scaling == "llama3" && beta_slow(params) >= beta_fast(params)) {
      issues.add(params.low_freq_factor ? "low_freq_factor" : "high_freq_factor",
                 "expected low_freq_factor less than high_freq_factor");
    }
  }

  static headwright::ParamMap effective(const headwright::Dims&, const Params& params) {
    if (params.scaling == "llama3") {
      return {{"low_freq_factor", {beta_slow(params)}}, {"high_freq_factor", {beta_fast(params)}}};
    }
    if (params.scaling == "longrope") return {{"attention_factor", {attention_factor(params)}}};
    if (params.scaling != "yarn") return {};
    return {{"beta_fast", {beta_fast(params)}},
            {"beta_slow", {beta_slow(params)}},
            {"ramp", {params.ramp.value_or("turns")}},
            {"attention_factor", {attention_factor(params)}}};
  }

  Rope(const headwright::Dims& dims, const Params& params)
      : params_(params), n_turned_(turned_channels(dims, params)), d_head_(d_head_of(dims)) {}

  std::pair<at::Tensor, at::Tensor> rotate(const at::Tensor& q, const at::Tensor& k, const at::Tensor& q_positions,
                                           const at::Tensor& k_positions) override {
    if (q.size(-1) != d_head_) headwright::refuse_shape("rope", "q", q, "d_head = " + std::to_string(d_head_));
    if (k.size(-1) != d_head_) headwright::refuse_shape("rope", "k", k, "d_head = " + std::to_string(d_head_));
    const auto rates = this->rates(q, q_positions, k_positions);
    const auto q_turn = turn_at(q_positions, rates, q.scalar_type());
    const auto k_turn = k_positions.is_same(q_positions) ? q_turn : turn_at(k_positions, rates, k.scalar_type());
    return {turned(q, q_turn), turned(k, k_turn)};
  }

 private:
  /// One angle within the trained context, another beyond it.
  static bool by_length(const Params& params) { return params.scaling == "dynamic" || params.scaling == "longrope"; }

  struct Turn {
    at::Tensor cos, sin;  // (seq, pairs) or (batch, 1, seq, pairs)
  };

  static std::int64_t turned_channels(const headwright::Dims& dims, const Params& params) {
    return static_cast<std::int64_t>(params.partial_rotary_factor * static_cast<double>(d_head_of(dims)));
  }
  static double beta_fast(const Params& params) {
    return params.scaling == "llama3" ? params.high_freq_factor.value_or(4) : params.beta_fast.value_or(32);
  }
  static double beta_slow(const Params& params) {
    return params.scaling == "llama3" ? params.low_freq_factor.value_or(1) : params.beta_slow.value_or(1);
  }
  static double trained_length(const Params& params) {
    return static_cast<double>(params.original_context_length.value_or(2));
  }
  /// That the factor gives.
  static double usual_attention_factor(const Params& params) {
    const auto log_factor = std::log(params.factor.value_or(1));
    if (params.scaling == "yarn") return 0.1 * log_factor + 1;
    return params.scaling == "longrope" ? std::sqrt(1 + log_factor / std::log(trained_length(params))) : 1;
  }
  static double attention_factor(const Params& params) {
    return params.attention_factor.value_or(usual_attention_factor(params));
  }

  static void check_channels(const headwright::Dims& dims, const Params& params, headwright::Issues& issues) {
    const auto turned = turned_channels(dims, params);
    const auto least = params.scaling == "dynamic" ? 4 : 2;  // its power d / (d - 2) needs more than one pair
    if (turned >= least && turned % 2 == 0) return;
    issues.add("partial_rotary_factor", "turns the first " + std::to_string(turned) +
                                            " of d_head = " + std::to_string(d_head_of(dims)) +
                                            " channels, expected an even number, at "
                                            "least " +
                                            std::to_string(least));
  }

  /// What the scaling does not read must not be given, and what it needs must be.
  static void check_scaling(const Params& params, headwright::Issues& issues) {
    using Scalings = std::vector<std::string>;
    const auto among = [&](const Scalings& scalings) {
      return std::ranges::find(scalings, params.scaling) != scalings.end();
    };
    const auto row = [&](const char* name, bool given, const Scalings& readers, const Scalings& needed_by = {}) {
      std::string names;
      for (const auto& reader : readers) {
        names += (names.empty() ? "" : &reader == &readers.back() ? " or " : ", ") + reader;
      }
      if (given && !among(readers)) issues.add(name, "has no effect without scaling: " + names);
      if (!given && among(needed_by)) issues.add(name, "missing; " + params.scaling + " needs it");
    };
    row("factor", params.factor.has_value(), {"linear", "dynamic", "yarn", "llama3", "longrope"},
        {"linear", "dynamic", "yarn", "llama3"});
    row("original_context_length", params.original_context_length.has_value(),
        {"dynamic", "yarn", "llama3", "longrope"}, {"dynamic", "yarn", "llama3", "longrope"});
    row("beta_fast", params.beta_fast.has_value(), {"yarn"});
    row("beta_slow", params.beta_slow.has_value(), {"yarn"});
    row("ramp", params.ramp.has_value(), {"yarn"});
    row("low_freq_factor", params.low_freq_factor.has_value(), {"llama3"});
    row("high_freq_factor", params.high_freq_factor.has_value(), {"llama3"});
    row("short_factor", params.short_factor.has_value(), {"longrope"}, {"longrope"});
    row("long_factor", params.long_factor.has_value(), {"longrope"}, {"longrope"});
    row("attention_factor", params.attention_factor.has_value(), {"yarn", "longrope"});
  }

  static void check_longrope(const headwright::Dims& dims, const Params& params, headwright::Issues& issues) {
    const auto pairs = turned_channels(dims, params) / 2;
    const auto check_list = [&](const char* name, const std::optional<std::vector<double>>& list) {
      if (!list || std::ssize(*list) == pairs) return;
      issues.add(name, "got " + std::to_string(list->size()) + " numbers, expected one for each of the " +
                           std::to_string(pairs) + " pairs of channels that are turned");
    };
    check_list("short_factor", params.short_factor);
    check_list("long_factor", params.long_factor);
    if (!params.factor && !params.attention_factor) {
      issues.add("factor", "missing; longrope needs it, or an attention_factor");
    }
    if (params.factor && params.attention_factor && *params.attention_factor != usual_attention_factor(params)) {
      issues.add("factor", "has no effect beside attention_factor, which is all that longrope makes of it");
    }
  }

  /// Tokens up to the last position, of each row by itself, so that none depends on its neighbours: (1) or (batch, 1).
  static at::Tensor length_of(const at::Tensor& q_positions, const at::Tensor& k_positions) {
    const auto last = [](const at::Tensor& positions) {
      return at::constant_pad_nd(positions, {0, 1}, 0).amax(-1, /*keepdim=*/true);  // of no tokens: 0
    };
    const auto of_q = last(q_positions);
    return (k_positions.is_same(q_positions) ? of_q : at::maximum(of_q, last(k_positions))) + 1;
  }

  /// Radians per position: (pairs), or (batch, 1, pairs) where each row has its own. Counted along q's channels, so
  /// that no constant ties an export to a device; in float64 where the device knows it, since angles need more digits
  /// than half types have.
  at::Tensor rates(const at::Tensor& q, const at::Tensor& q_positions, const at::Tensor& k_positions) const {
    const auto channels = headwright::positions_along(q, -1).slice(0, 0, n_turned_, 2);  // 0, 2, 4, ...
    const auto wide = channels.to(q.is_mps() ? at::kFloat : at::kDouble);
    const auto turned = static_cast<double>(n_turned_), factor = params_.factor.value_or(1);
    const auto plain = (wide * (-std::log(params_.theta) / turned)).exp();
    if (params_.scaling == "none") return plain;
    if (params_.scaling == "linear") return plain / factor;
    if (params_.scaling == "yarn" || params_.scaling == "llama3") {
      const auto kept = kept_share(wide / 2, plain);
      return kept * plain + (1 - kept) * plain / factor;
    }
    const auto length = length_of(q_positions, k_positions).unsqueeze(-1);  // (1, 1) or (batch, 1, 1)
    if (params_.scaling == "longrope") {
      return plain / at::where(length > trained_length(params_),
                               along(wide, params_.long_factor.value_or(std::vector<double>())),
                               along(wide, params_.short_factor.value_or(std::vector<double>())));
    }
    const auto longer = length.to(wide.scalar_type()).clamp_min(trained_length(params_)) / trained_length(params_);
    const auto log_theta = (longer * factor - (factor - 1)).log() * (turned / (turned - 2)) + std::log(params_.theta);
    return (wide * log_theta * (-1 / turned)).exp();
  }

  /// The numbers, on the device and in the type of `like`, written as scalars for the same reason.
  static at::Tensor along(const at::Tensor& like, const std::vector<double>& numbers) {
    const auto zero = like.slice(0, 0, 1) * 0;
    std::vector<at::Tensor> each;
    for (const auto number : numbers) each.push_back(zero + number);
    return at::cat(each);  // (pairs)
  }

  /// g of yarn and of llama3: (pairs)
  at::Tensor kept_share(const at::Tensor& pair, const at::Tensor& rates) const {
    const auto fast = beta_fast(params_), slow = beta_slow(params_);
    const auto circles = trained_length(params_) / (2 * std::numbers::pi);
    const auto ramp = params_.ramp.value_or("turns");
    if (ramp == "turns") return ((circles * rates - slow) / (fast - slow)).clamp(0, 1);
    // The pair, between whole ones, that makes so many turns.
    const auto channels = static_cast<double>(n_turned_);
    const auto pair_with = [&](double turns) {
      return channels * std::log(circles / turns) / (2 * std::log(params_.theta));
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
    const auto length = attention_factor(params_);
    return {(angles.cos() * length).to(dtype), (angles.sin() * length).to(dtype)};
  }

  at::Tensor turned(const at::Tensor& x, const Turn& turn) const {
    const auto first = x.slice(-1, 0, n_turned_);
    const auto rest = x.slice(-1, n_turned_);
    if (params_.layout == "interleaved") {
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

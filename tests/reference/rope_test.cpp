// Rotary positions against loops over doubles: both layouts, parts of a head, and the scalings.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numbers>
#include <set>

#include "headwright/errors.h"
#include "headwright/position.h"
#include "helpers/variants.h"
#include "reference/loops.h"

namespace {

using headwright::Dims;
using headwright::ParamMap;
using headwright::Position;
using headwright::Value;
using loops::Row;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::int64_t kHead = 12;
const Dims kDims{.d_model = 2 * kHead, .n_heads = 2, .n_kv_heads = 1, .d_head = kHead};

/// How a test turns: rate(pair, channels), length of a turned pair.
struct Turning {
  bool interleaved = false;
  long channels = kHead;  // that are turned
  std::function<double(long pair, long channels)> rate;
  double length = 1;
};

double plain_rate(long pair, long channels) { return std::pow(10000.0, -2.0 * double(pair) / double(channels)); }

/// One head's channels at `position`.
Row turned(const Row& x, double position, const Turning& turning) {
  Row y = x;
  for (long pair = 0; pair < turning.channels / 2; ++pair) {
    const auto first = std::size_t(turning.interleaved ? 2 * pair : pair);
    const auto second = turning.interleaved ? first + 1 : first + std::size_t(turning.channels / 2);
    const double angle = position * turning.rate(pair, turning.channels);
    y[first] = turning.length * (x[first] * std::cos(angle) - x[second] * std::sin(angle));
    y[second] = turning.length * (x[first] * std::sin(angle) + x[second] * std::cos(angle));
  }
  return y;
}

std::shared_ptr<Position> make(const ParamMap& params) {
  return headwright::test::make<Position>("rope", kDims, params);
}

void expect_turned(const at::Tensor& y, const at::Tensor& x, const at::Tensor& positions, const Turning& turning) {
  ASSERT_EQ(y.sizes(), x.sizes());
  for (std::int64_t b = 0; b < x.size(0); ++b) {
    for (std::int64_t h = 0; h < x.size(1); ++h) {
      const auto before = loops::rows_of(x[b][h]), after = loops::rows_of(y[b][h]);
      for (std::size_t i = 0; i < before.size(); ++i) {
        const auto position = positions[static_cast<std::int64_t>(i)].item<std::int64_t>();
        const auto expected = turned(before[i], double(position), turning);
        for (std::size_t c = 0; c < expected.size(); ++c) {
          ASSERT_NEAR(after[i][c], expected[c], 1e-10) << "position " << position << ", channel " << c;
        }
      }
    }
  }
}

/// Outputs, and the gradient: turning is linear, so it is the transposed turning of what the loss says of the output.
void expect_agreement(const ParamMap& params, const Turning& turning) {
  at::manual_seed(3);
  const auto module = make(params);
  const auto positions = at::tensor({0, 1, 2, 17, 63, 4999}, at::kLong);
  const auto q = at::randn({2, 2, 6, kHead}, at::kDouble).requires_grad_(true);
  const auto k = at::randn({2, 1, 6, kHead}, at::kDouble);
  const auto [q_turned, k_turned] = module->rotate(q, k, positions, positions.clone());
  expect_turned(q_turned, q, positions, turning);
  expect_turned(k_turned, k, positions, turning);
  const auto g = at::randn_like(q_turned);
  (q_turned * g).sum().backward();
  expect_turned(q.grad(), g, positions.neg(), turning);
}

TEST(Rope, EqualsTheFormulaInBothLayoutsAndForPartsOfAHead) {
  for (const bool interleaved : {false, true}) {
    for (const auto& [fraction, channels] : {std::pair{1.0, kHead}, {0.5, 6L}, {0.2, 2L}, {0.39, 4L}}) {
      SCOPED_TRACE(channels);
      expect_agreement({{"layout", Value{std::string(interleaved ? "interleaved" : "half")}},
                        {"partial_rotary_factor", Value{fraction}}},
                       {.interleaved = interleaved, .channels = channels, .rate = plain_rate});
    }
  }
}

TEST(Rope, TakesItsTheta) {
  expect_agreement({{"theta", Value{500.0}}}, {.rate = [](long pair, long channels) {
                     return std::pow(500.0, -2.0 * double(pair) / double(channels));
                   }});
}

TEST(Rope, HalfOfPermutedChannelsIsInterleavedPermuted) {
  const auto x = at::randn({2, 2, 5, kHead}, at::kDouble), positions = at::arange(5);
  const auto permutation = at::cat({at::arange(0, kHead, 2), at::arange(1, kHead, 2)});  // 0, 2, 4, ..., 1, 3, 5, ...
  const auto half = make({})->rotate(x.index_select(-1, permutation), x, positions, positions).first;
  const auto interleaved =
      make({{"layout", Value{std::string("interleaved")}}})->rotate(x, x, positions, positions).first;
  EXPECT_TRUE(half.allclose(interleaved.index_select(-1, permutation), 0, 1e-12));
  EXPECT_FALSE(half.allclose(interleaved, 0, 0.1));
}

TEST(Rope, ScoresDependOnTheDistanceAlone) {
  const auto q = at::randn({1, 2, 4, kHead}, at::kDouble), k = at::randn({1, 2, 4, kHead}, at::kDouble);
  const auto scores_at = [&](std::int64_t start) {
    const auto positions = at::arange(start, start + 4);
    const auto [q_turned, k_turned] = make({})->rotate(q, k, positions, positions);
    return q_turned.matmul(k_turned.transpose(-2, -1));
  };
  EXPECT_TRUE(scores_at(0).allclose(scores_at(1000), 0, 1e-10));
  EXPECT_FALSE(scores_at(0).allclose(q.matmul(k.transpose(-2, -1)), 0, 0.1));
}

TEST(Rope, TakesPositionsOfEachSequenceAndOfQueriesApartFromKeys) {
  const auto q = at::randn({2, 2, 3, kHead}), k = at::randn({2, 1, 5, kHead});
  const auto own = at::tensor({0, 1, 2, 7, 8, 9}, at::kLong).view({2, 3}), others = at::arange(5);
  const auto [q_turned, k_turned] = make({})->rotate(q, k, own, others);
  for (std::int64_t b = 0; b < 2; ++b) {
    const auto [q_alone, k_alone] = make({})->rotate(q.slice(0, b, b + 1), k.slice(0, b, b + 1), own[b], others);
    EXPECT_TRUE(at::equal(q_turned[b], q_alone[0]));
    EXPECT_TRUE(at::equal(k_turned[b], k_alone[0]));
  }
}

TEST(Rope, LinearScalingDividesThePosition) {
  expect_agreement({{"scaling", Value{std::string("linear")}}, {"factor", Value{4.0}}},
                   {.rate = [](long pair, long channels) { return plain_rate(pair, channels) / 4; }});
}

/// positions: of one row. Like expect_agreement, at positions that reach `length` tokens.
void expect_agreement_at(const ParamMap& params, const Turning& turning, std::int64_t length) {
  SCOPED_TRACE(length);
  at::manual_seed(4);
  const auto module = make(params);
  const auto positions = at::tensor({std::int64_t{0}, length / 2, length - 1}, at::kLong);
  const auto q = at::randn({2, 2, 3, kHead}, at::kDouble).requires_grad_(true);
  const auto k = at::randn({2, 1, 3, kHead}, at::kDouble).requires_grad_(true);
  const auto [q_turned, k_turned] = module->rotate(q, k, positions, positions);
  expect_turned(q_turned, q, positions, turning);
  expect_turned(k_turned, k, positions, turning);
  const auto gq = at::randn_like(q_turned), gk = at::randn_like(k_turned);
  ((q_turned * gq).sum() + (k_turned * gk).sum()).backward();
  expect_turned(q.grad(), gq, positions.neg(), turning);
  expect_turned(k.grad(), gk, positions.neg(), turning);
}

/// The published parameters at a trained context of 512, of which some pairs turn more than 32 times and some never.
struct Yarn {
  double factor = 8, context = 512, fast = 32, slow = 1;

  double turns(long pair, long channels) const { return context * plain_rate(pair, channels) / (2 * std::numbers::pi); }
  double rate(long pair, long channels, double kept) const {
    return kept * plain_rate(pair, channels) + (1 - kept) * plain_rate(pair, channels) / factor;
  }
};

double ramp(double x) { return x < 0 ? 0 : x > 1 ? 1 : x; }

ParamMap yarn_params(ParamMap more = {}) {
  ParamMap params{{"scaling", Value{std::string("yarn")}},
                  {"factor", Value{8.0}},
                  {"original_context_length", Value{std::int64_t{512}}}};
  params.insert(params.end(), more.begin(), more.end());
  return params;
}

TEST(Rope, YarnEqualsThePapersFormula) {
  const Yarn yarn;
  const auto rate = [&](long pair, long channels) {
    return yarn.rate(pair, channels, ramp((yarn.turns(pair, channels) - yarn.slow) / (yarn.fast - yarn.slow)));
  };
  EXPECT_DOUBLE_EQ(rate(0, kHead), 1);                                     // many turns: as trained
  EXPECT_DOUBLE_EQ(rate(kHead / 2 - 1, kHead), plain_rate(5, kHead) / 8);  // none: stretched
  EXPECT_GT(rate(1, kHead), plain_rate(1, kHead) / 8);                     // between
  EXPECT_LT(rate(1, kHead), plain_rate(1, kHead));
  expect_agreement(yarn_params(), {.rate = rate, .length = 0.1 * std::log(8.0) + 1});
  expect_agreement(yarn_params({{"attention_factor", Value{1.0}}}), {.rate = rate, .length = 1});
}

TEST(Rope, YarnTakesItsBetas) {
  const Yarn yarn{.fast = 60, .slow = 3};
  const auto rate = [&](long pair, long channels) {
    return yarn.rate(pair, channels, ramp((yarn.turns(pair, channels) - yarn.slow) / (yarn.fast - yarn.slow)));
  };
  expect_agreement(yarn_params({{"beta_fast", Value{60.0}}, {"beta_slow", Value{3.0}}}),
                   {.rate = rate, .length = 0.1 * std::log(8.0) + 1});
}

/// As in the authors' program: g falls with the index of the pair, between the pairs that turn beta_fast and beta_slow
/// times.
TEST(Rope, YarnRampsOverPairsAsCheckpointsDo) {
  const Yarn yarn;
  for (const bool whole : {false, true}) {
    const auto rate = [&](long pair, long channels) {
      const auto with_turns = [&](double turns) {  // L base^(-2i / d) / (2 pi) = turns, solved for i
        return double(channels) / 2 * std::log(yarn.context / (2 * std::numbers::pi * turns)) / std::log(10000.0);
      };
      double first = with_turns(yarn.fast), last = with_turns(yarn.slow);
      if (whole) {
        first = std::floor(first);
        last = std::ceil(last);
      }
      first = std::max(first, 0.0);
      last = std::min(last, double(channels) - 1);
      return yarn.rate(pair, channels, 1 - ramp((double(pair) - first) / (last - first)));
    };
    expect_agreement(yarn_params({{"ramp", Value{std::string(whole ? "whole_pairs" : "pairs")}}}),
                     {.rate = rate, .length = 0.1 * std::log(8.0) + 1});
  }
}

ParamMap scaled(const char* scaling, ParamMap more) {
  more.push_back({"scaling", Value{std::string(scaling)}});
  more.push_back({"original_context_length", Value{std::int64_t{512}}});
  return more;
}

/// transformers' "dynamic": theta grows with the length once that is beyond the trained context.
TEST(Rope, DynamicScalingGrowsThetaWithTheLength) {
  const auto params = scaled("dynamic", {{"factor", Value{4.0}}});
  for (const long length : {1L, 300L, 512L, 513L, 1000L, 5000L}) {
    const double n = double(std::max(length, 512L)), d = double(kHead);
    const double theta = 10000 * std::pow(4.0 * n / 512 - 3, d / (d - 2));
    const auto rate = [&](long pair, long channels) { return std::pow(theta, -2.0 * double(pair) / double(channels)); };
    expect_agreement_at(params, {.rate = rate}, length);
  }
}

TEST(Rope, DynamicScalingLooksAtEachRowByItself) {
  const auto module = make(scaled("dynamic", {{"factor", Value{4.0}}}));
  const auto q = at::randn({2, 2, 3, kHead}), k = at::randn({2, 1, 3, kHead});
  const auto positions = at::tensor({0, 1, 2, 7, 8, 4999}, at::kLong).view({2, 3});
  const auto [q_turned, k_turned] = module->rotate(q, k, positions, positions);
  for (std::int64_t b = 0; b < 2; ++b) {
    const auto [q_alone, k_alone] =
        module->rotate(q.slice(0, b, b + 1), k.slice(0, b, b + 1), positions[b], positions[b]);
    EXPECT_TRUE(q_turned[b].allclose(q_alone[0], 0, 1e-6));
    EXPECT_TRUE(k_turned[b].allclose(k_alone[0], 0, 1e-6));
  }
}

/// By wavelengths, as transformers has it.
TEST(Rope, Llama3ScalingSlowsLongWavelengths) {
  for (const auto& [low, high] : {std::pair{1.0, 4.0}, {0.5, 30.0}}) {
    const auto rate = [&, low = low, high = high](long pair, long channels) {
      const double plain = plain_rate(pair, channels), wavelength = 2 * std::numbers::pi / plain;
      if (wavelength < 512 / high) return plain;
      if (wavelength > 512 / low) return plain / 8;
      const double smooth = (512 / wavelength - low) / (high - low);
      return (1 - smooth) * plain / 8 + smooth * plain;
    };
    EXPECT_DOUBLE_EQ(rate(0, kHead), 1);
    EXPECT_DOUBLE_EQ(rate(5, kHead), plain_rate(5, kHead) / 8);
    ParamMap more{{"factor", Value{8.0}}};
    if (low != 1) more.insert(more.end(), {{"low_freq_factor", Value{low}}, {"high_freq_factor", Value{high}}});
    expect_agreement(scaled("llama3", more), {.rate = rate});
  }
}

ParamMap longrope_params(ParamMap more) {
  const auto list = [](std::initializer_list<double> numbers) {
    std::vector<Value> values;
    for (const double number : numbers) values.push_back(Value{number});
    return Value{values};
  };
  more.push_back({"short_factor", list({1, 1.05, 1.25, 1.5, 2, 3})});
  more.push_back({"long_factor", list({1.1, 2, 4.25, 8, 16, 31.7})});
  return scaled("longrope", more);
}

TEST(Rope, LongRopeChoosesItsFactorsByTheLength) {
  const double within[] = {1, 1.05, 1.25, 1.5, 2, 3}, beyond[] = {1.1, 2, 4.25, 8, 16, 31.7};
  for (const long length : {1L, 511L, 512L, 513L, 6000L}) {
    const auto rate = [&](long pair, long channels) {
      return plain_rate(pair, channels) / (length > 512 ? beyond : within)[std::size_t(pair)];
    };
    const double usual = std::sqrt(1 + std::log(32.0) / std::log(512.0));
    expect_agreement_at(longrope_params({{"factor", Value{32.0}}}), {.rate = rate, .length = usual}, length);
    expect_agreement_at(longrope_params({{"attention_factor", Value{1.25}}}), {.rate = rate, .length = 1.25}, length);
    expect_agreement_at(longrope_params({{"factor", Value{1.0}}}), {.rate = rate, .length = 1}, length);
  }
}

TEST(Rope, EveryScalingTakesNoTokens) {
  const auto x = at::zeros({2, 2, 0, kHead});
  for (const auto& params : {ParamMap{}, yarn_params(), scaled("dynamic", {{"factor", Value{4.0}}}),
                             longrope_params({{"factor", Value{32.0}}})}) {
    EXPECT_EQ(make(params)->rotate(x, x, at::arange(0), at::arange(0)).first.sizes(), x.sizes());
  }
}

TEST(Rope, StatesWhatItComputesWithWhereNothingIsGiven) {
  const auto effective = [](const ParamMap& params) {
    std::string text;
    for (const auto& [name, value] : headwright::test::variant("rope").effective(kDims, params)) {
      const auto* number = std::get_if<double>(&value.data);
      text += name + " " + (number ? std::to_string(*number) : std::get<std::string>(value.data)) + ", ";
    }
    return text;
  };
  EXPECT_EQ(effective({}), "");
  EXPECT_EQ(effective(yarn_params()),
            "beta_fast 32.000000, beta_slow 1.000000, ramp turns, attention_factor 1.207944, ");
  EXPECT_EQ(effective(scaled("llama3", {{"factor", Value{8.0}}})),
            "low_freq_factor 1.000000, high_freq_factor 4.000000, ");
  EXPECT_EQ(effective(longrope_params({{"factor", Value{32.0}}})), "attention_factor 1.247219, ");
}

TEST(Rope, KeepsItsDigitsInHalfTypes) {
  const auto x = at::randn({1, 2, 1, kHead});
  const auto positions = at::tensor({1001}, at::kLong);  // not a bfloat16 number
  const auto full = make({})->rotate(x, x, positions, positions).first;
  for (const auto& [dtype, tolerance] : {std::pair{at::kFloat, 1e-5}, {at::kHalf, 2e-3}, {at::kBFloat16, 1.6e-2}}) {
    const auto cast = x.to(dtype);
    const auto y = make({})->rotate(cast, cast, positions, positions).first;
    EXPECT_EQ(y.scalar_type(), dtype);
    EXPECT_LE((y.to(at::kFloat) - full).abs().max().item<double>(), tolerance * full.abs().max().item<double>());
  }
}

std::vector<std::string> said(const ParamMap& params) { return headwright::test::issues("rope", kDims, params); }

TEST(Rope, RefusesPartsThatDoNotTurnInPairs) {
  EXPECT_THAT(said({}), testing::IsEmpty());
  EXPECT_THAT(said({{"partial_rotary_factor", Value{0.25}}}),
              ElementsAre(HasSubstr("partial_rotary_factor: turns the first 3 of d_head = 12")));
  EXPECT_THAT(said({{"partial_rotary_factor", Value{0.05}}}),
              ElementsAre(HasSubstr("partial_rotary_factor: turns the first 0 of d_head = 12")));
  EXPECT_THAT(said(scaled("dynamic", {{"factor", Value{2.0}}, {"partial_rotary_factor", Value{0.2}}})),
              ElementsAre(HasSubstr("turns the first 2 of d_head = 12 channels, expected an even number, at least 4")));
}

TEST(Rope, RefusesWhatIsMissing) {
  const auto only = [](const char* scaling) { return ParamMap{{"scaling", Value{std::string(scaling)}}}; };
  EXPECT_THAT(said(only("linear")), ElementsAre("factor: missing; linear needs it"));
  for (const std::string scaling : {"dynamic", "yarn", "llama3"}) {
    EXPECT_THAT(said(only(scaling.c_str())), ElementsAre("factor: missing; " + scaling + " needs it",
                                                         "original_context_length: missing; " + scaling + " needs it"));
  }
  EXPECT_THAT(said(only("longrope")),
              ElementsAre("original_context_length: missing; longrope needs it",
                          "short_factor: missing; longrope needs it", "long_factor: missing; longrope needs it",
                          "factor: missing; longrope needs it, or an attention_factor"));
}

TEST(Rope, RefusesWhatDoesNotFitTogether) {
  EXPECT_THAT(said(yarn_params({{"beta_slow", Value{32.0}}})),
              ElementsAre("beta_slow: expected beta_slow less than beta_fast"));
  EXPECT_THAT(said(scaled("llama3", {{"factor", Value{8.0}}, {"low_freq_factor", Value{4.0}}})),
              ElementsAre("low_freq_factor: expected low_freq_factor less than high_freq_factor"));
  auto params = longrope_params({{"factor", Value{8.0}}, {"partial_rotary_factor", Value{0.5}}});
  EXPECT_THAT(said(params), ElementsAre(HasSubstr("short_factor: got 6 numbers, expected one for each of the 3 pairs"),
                                        HasSubstr("long_factor: got 6 numbers")));
  EXPECT_THAT(said(longrope_params({{"factor", Value{8.0}}, {"attention_factor", Value{1.5}}})),
              ElementsAre(HasSubstr("factor: has no effect beside attention_factor")));
  const double usual = std::sqrt(1 + std::log(8.0) / std::log(512.0));
  EXPECT_THAT(said(longrope_params({{"factor", Value{8.0}}, {"attention_factor", Value{usual}}})), testing::IsEmpty());
}

/// Every option of a scaling under each scaling that does not read it.
TEST(Rope, RefusesWhatHasNoEffect) {
  const auto text = [](const char* value) { return Value{std::string(value)}; };
  const Value list{std::vector<Value>(6, Value{2.0})};
  const std::map<std::string, std::pair<Value, std::set<std::string>>> options{
      {"factor", {{2.0}, {"linear", "dynamic", "yarn", "llama3", "longrope"}}},
      {"original_context_length", {{std::int64_t{8}}, {"dynamic", "yarn", "llama3", "longrope"}}},
      {"beta_fast", {{3.0}, {"yarn"}}},
      {"beta_slow", {{2.0}, {"yarn"}}},
      {"ramp", {text("pairs"), {"yarn"}}},
      {"low_freq_factor", {{2.0}, {"llama3"}}},
      {"high_freq_factor", {{3.0}, {"llama3"}}},
      {"short_factor", {list, {"longrope"}}},
      {"long_factor", {list, {"longrope"}}},
      {"attention_factor", {{2.0}, {"yarn", "longrope"}}},
  };
  for (const std::string scaling : {"none", "linear", "dynamic", "yarn", "llama3", "longrope"}) {
    for (const auto& [name, option] : options) {
      const auto& [value, readers] = option;
      const auto problems = said({{"scaling", Value{scaling}}, {name, value}});
      const bool refused = std::ranges::any_of(problems, [&name = name](const std::string& problem) {
        return problem.starts_with(name + ": has no effect without scaling: ");
      });
      EXPECT_EQ(refused, !readers.contains(scaling)) << name << " under " << scaling;
    }
  }
}

TEST(Rope, RefusesHeadsOfAnotherWidth) {
  const auto x = at::zeros({1, 2, 3, 8});
  EXPECT_THROW(make({})->rotate(x, x, at::arange(3), at::arange(3)), headwright::ShapeError);
}

TEST(Rope, ClaimsToRotateAndHasNothingToLearnOrStore) {
  const auto claims = headwright::test::variant("rope").claims(kDims, {});
  EXPECT_TRUE(claims.rotate);
  EXPECT_FALSE(claims.embed || claims.bias);
  EXPECT_TRUE(make({})->parameters().empty());
  EXPECT_TRUE(make({})->buffers().empty());
}

}  // namespace

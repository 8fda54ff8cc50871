// The positions that change scores, ALiBi and T5's relative bias, against loops over doubles.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <algorithm>

#include <cmath>
#include <numbers>

#include "headwright/attend.h"
#include "headwright/position.h"
#include "helpers/variants.h"

namespace {

using headwright::ParamMap;
using headwright::Position;
using headwright::Value;
using testing::ElementsAre;
using testing::HasSubstr;

std::shared_ptr<Position> make(const std::string& name, std::int64_t n_heads, const ParamMap& params = {}) {
  const headwright::Dims dims{.d_model = 4 * n_heads, .n_heads = n_heads, .n_kv_heads = n_heads, .d_head = 4};
  auto module = headwright::test::make<Position>(name, dims, params);
  module->to(at::kDouble);
  return module;
}

/// What the position adds to scores of zero: (1, n_heads, q_len, k_len), the last query at the last key.
at::Tensor added(const Position& position, std::int64_t n_heads, std::int64_t q_len, std::int64_t k_len) {
  const headwright::ScorePositions place{.q_positions = at::arange(k_len - q_len, k_len).unsqueeze(1),
                                         .k_positions = at::arange(k_len).unsqueeze(0)};
  return position.bias().apply(at::zeros({1, n_heads, q_len, k_len}, at::kDouble), place);
}

/// Read off the bias: what a key one token earlier costs.
std::vector<double> slopes(std::int64_t n_heads, const std::string& family) {
  const auto bias = added(*make("alibi", n_heads, {{"slopes", Value{family}}}), n_heads, 1, 2);
  std::vector<double> found;
  for (std::int64_t h = 0; h < n_heads; ++h) found.push_back(-bias[0][h][0][0].item<double>());
  return found;
}

void expect_slopes(const std::vector<double>& got, const std::vector<double>& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t h = 0; h < got.size(); ++h) EXPECT_NEAR(got[h], expected[h], 1e-12) << "head " << h;
}

/// As the authors' program has it: for other numbers than powers of two, every other slope of the next one follows.
std::vector<double> press_slopes(std::size_t n_heads) {
  const auto of_power = [](std::size_t power) {
    std::vector<double> slopes;
    for (std::size_t h = 0; h < power; ++h) slopes.push_back(std::pow(2.0, -8.0 * double(h + 1) / double(power)));
    return slopes;
  };
  std::size_t below = 1;
  while (below * 2 <= n_heads) below *= 2;
  auto slopes = of_power(below);
  const auto twice = of_power(2 * below);
  for (std::size_t i = 0; slopes.size() < n_heads; i += 2) slopes.push_back(twice[i]);
  return slopes;
}

TEST(Alibi, HasThePublishedSlopes) {
  expect_slopes(slopes(3, "press"), {.0625, .00390625, .25});
  expect_slopes(slopes(6, "press"), {.25, .0625, .015625, .00390625, .5, .125});
  expect_slopes(slopes(8, "press"), {.5, .25, .125, .0625, .03125, .015625, .0078125, .00390625});
  const auto of_12 = slopes(12, "press");
  for (std::size_t h = 0; h < 8; ++h) EXPECT_NEAR(of_12[h], std::pow(2.0, -double(h + 1)), 1e-12);
  const double after_8[] = {.707107, .353553, .176777, .088388};
  for (std::size_t h = 0; h < 4; ++h) EXPECT_NEAR(of_12[8 + h], after_8[h], 1e-6);
  for (std::int64_t n_heads = 1; n_heads <= 40; ++n_heads) {
    SCOPED_TRACE(n_heads);
    expect_slopes(slopes(n_heads, "press"), press_slopes(static_cast<std::size_t>(n_heads)));
  }
}

TEST(Alibi, GeometricSlopesFollowOneFormula) {
  for (const std::int64_t n_heads : {1, 3, 6, 8, 12, 40}) {
    std::vector<double> expected;
    for (std::int64_t h = 0; h < n_heads; ++h)
      expected.push_back(std::pow(2.0, -8.0 * double(h + 1) / double(n_heads)));
    expect_slopes(slopes(n_heads, "geometric"), expected);
  }
}

TEST(Alibi, FallsLinearlyWithTheDistance) {
  for (const auto& [q_len, k_len] : {std::pair{1L, 1L}, {2L, 17L}, {17L, 17L}}) {
    const auto bias = added(*make("alibi", 6), 6, q_len, k_len);
    const auto expected = press_slopes(6);
    for (std::int64_t h = 0; h < 6; ++h) {
      for (std::int64_t i = 0; i < q_len; ++i) {
        for (std::int64_t j = 0; j < k_len; ++j) {
          const auto distance = std::abs(double(i + k_len - q_len - j));
          ASSERT_NEAR(bias[0][h][i][j].item<double>(), -expected[std::size_t(h)] * distance, 1e-10) << h << i << j;
        }
      }
    }
  }
}

TEST(Alibi, KeepsItsSlopesWhenTheModelIsCast) {
  const auto module = make("alibi", 12);
  module->to(at::kBFloat16);
  const auto bias = added(*module, 12, 1, 2);
  EXPECT_NEAR(bias[0][8][0][0].item<double>(), -std::numbers::sqrt2 / 2, 1e-12);  // no bfloat16 number
}

TEST(Alibi, LearnsNothing) { EXPECT_TRUE(make("alibi", 6)->parameters().empty()); }

/// A product of whole numbers, in decimal digits, the lowest first: as one does it on paper.
std::vector<int> product(std::initializer_list<std::pair<long, long>> powers) {
  std::vector<int> digits{1};
  for (const auto& [factor, power] : powers) {
    for (long i = 0; i < power; ++i) {
      long carry = 0;
      for (auto& digit : digits) {
        carry += digit * factor;
        digit = int(carry % 10);
        carry /= 10;
      }
      for (; carry > 0; carry /= 10) digits.push_back(int(carry % 10));
    }
  }
  return digits;
}

struct FarClasses {
  long exact, far, max_distance;
};

/// far ln(r / exact) / ln(max / exact) >= i, as (r / exact)^far >= (max / exact)^i.
bool reaches(long r, const FarClasses& c, long i) {
  const auto left = product({{r, c.far}, {c.exact, i}}), right = product({{c.max_distance, i}, {c.exact, c.far}});
  if (left.size() != right.size()) return left.size() > right.size();
  return !std::lexicographical_compare(left.rbegin(), left.rend(), right.rbegin(), right.rend());
}

struct Buckets {
  long n_buckets, max_distance;
  bool bidirectional;
};

/// The bucket of a key `ahead` tokens after the query.
long bucket(long ahead, const Buckets& b) {
  long n = b.n_buckets, base = 0, far = -ahead;
  if (b.bidirectional) {
    n /= 2;
    if (ahead > 0) base = n;
    far = std::abs(ahead);
  }
  far = std::max(far, 0L);
  const long exact = n / 2;
  if (far < exact) return base + far;
  // The whole part of (n - exact) ln(far / exact) / ln(max / exact), without its rounding: the last class whose lower
  // end is not beyond `far`, both raised to whole powers.
  long above = 0;
  while (exact + above + 1 < n && reaches(far, {exact, n - exact, b.max_distance}, above + 1)) ++above;
  return base + exact + above;
}

ParamMap params_of(const Buckets& b) {
  return {{"n_buckets", Value{b.n_buckets}},
          {"max_distance", Value{b.max_distance}},
          {"bidirectional", Value{b.bidirectional}}};
}

TEST(RelativeBias, EqualsThePapersBuckets) {
  at::manual_seed(1);
  for (const auto& b :
       {Buckets{32, 128, true}, {32, 128, false}, {8, 20, true}, {7, 11, false}, {4, 3, true}, {2, 2, false}}) {
    SCOPED_TRACE(testing::Message() << b.n_buckets << " buckets to " << b.max_distance);
    const auto module = make("relative_bias", 3, params_of(b));
    const auto weight = module->named_parameters()["weight"];
    ASSERT_EQ(weight.sizes(), (std::vector<std::int64_t>{b.n_buckets, 3}));
    for (const auto& [q_len, k_len] : {std::pair{1L, 1L}, {2L, 17L}, {140L, 140L}}) {
      const auto bias = added(*module, 3, q_len, k_len).detach().contiguous();
      const auto got = bias.accessor<double, 4>();
      for (long i = 0; i < q_len; ++i) {
        for (long j = 0; j < k_len; ++j) {
          const auto row = bucket(j - (i + k_len - q_len), b);
          for (long h = 0; h < 3; ++h) {
            ASSERT_EQ(got[0][h][i][j], weight[row][h].item<double>()) << "query " << i << ", key " << j;
          }
        }
      }
    }
  }
}

/// The bucket of a key `back` tokens before the query, read off the bias: each weight is its own row.
long got_bucket(const Position& position, long back) {
  const headwright::ScorePositions place{.q_positions = at::full({1, 1}, back, at::kLong),
                                         .k_positions = at::zeros({1, 1}, at::kLong)};
  return long(position.bias().apply(at::zeros({1, 1, 1, 1}, at::kDouble), place).item<double>());
}

TEST(RelativeBias, ClassesEveryDistanceByWholeNumbers) {
  long at_borders = 0;
  for (const long n_buckets : {2L, 3L, 5L, 8L, 12L, 16L, 32L, 33L}) {
    for (const long max_distance : {2L, 3L, 4L, 9L, 16L, 20L, 25L, 36L, 49L, 64L, 81L, 100L, 128L, 144L, 256L, 400L}) {
      for (const bool bidirectional : {false, true}) {
        const Buckets b{n_buckets, max_distance, bidirectional};
        const long n = bidirectional ? n_buckets / 2 : n_buckets;
        if ((bidirectional && n_buckets % 2 != 0) || n < 2 || max_distance <= n / 2) continue;
        const auto module = make("relative_bias", 1, params_of(b));
        module->named_parameters()["weight"].detach().copy_(at::arange(n_buckets).unsqueeze(1));
        for (long back = 0; back <= max_distance + 1; ++back) {
          ASSERT_EQ(got_bucket(*module, back), bucket(-back, b))
              << back << " back, " << n_buckets << " buckets to " << max_distance << ", both " << bidirectional;
          const FarClasses far{n / 2, n - n / 2, max_distance};
          const long i = bucket(-back, b) - far.exact;
          if (i > 0 && product({{back, far.far}, {far.exact, i}}) == product({{max_distance, i}, {far.exact, far.far}}))
            ++at_borders;
        }
      }
    }
  }
  EXPECT_GE(at_borders, 60);  // distances that stand exactly at a border
}

TEST(RelativeBias, PutsADistanceAtABorderIntoTheClassThatBeginsThere) {
  const auto module = make("relative_bias", 1, params_of({32, 25, false}));
  module->named_parameters()["weight"].detach().copy_(at::arange(32).unsqueeze(1));
  EXPECT_EQ(got_bucket(*module, 20), 24);  // (20 / 16)^16 = (25 / 16)^8
  EXPECT_EQ(got_bucket(*module, 19), 22);
}

TEST(RelativeBias, LearnsFromEveryScoreOfABucket) {
  const Buckets b{8, 20, true};
  const auto module = make("relative_bias", 2, params_of(b));
  const auto g = at::randn({1, 2, 5, 9}, at::kDouble);
  (added(*module, 2, 5, 9) * g).sum().backward();
  const auto gradient = module->named_parameters()["weight"].grad();
  for (long row = 0; row < 8; ++row) {
    for (long h = 0; h < 2; ++h) {
      double expected = 0;
      for (long i = 0; i < 5; ++i) {
        for (long j = 0; j < 9; ++j) {
          if (bucket(j - (i + 4), b) == row) expected += g[0][h][i][j].item<double>();
        }
      }
      EXPECT_NEAR(gradient[row][h].item<double>(), expected, 1e-10) << row << ", " << h;
    }
  }
}

TEST(RelativeBias, RefusesBucketsThatDoNotFit) {
  const auto said = [](const Buckets& b) {
    return headwright::test::issues("relative_bias", {.d_model = 4}, params_of(b));
  };
  EXPECT_THAT(said({32, 128, true}), testing::IsEmpty());
  EXPECT_THAT(said({7, 128, true}), ElementsAre(HasSubstr("n_buckets: got 7, expected an even number")));
  EXPECT_THAT(said({2, 128, true}), ElementsAre(HasSubstr("n_buckets: got 2, expected an even number")));
  EXPECT_THAT(said({32, 16, false}), ElementsAre(HasSubstr("max_distance: got 16, expected more than the 16")));
}

TEST(ScorePositions, ClaimToChangeScoresAndNothingElse) {
  for (const std::string variant : {"alibi", "relative_bias"}) {
    const auto claims = headwright::test::variant(variant).claims({.d_model = 4, .n_heads = 2}, {});
    EXPECT_TRUE(claims.bias) << variant;
    EXPECT_FALSE(claims.rotate || claims.embed) << variant;
  }
}

}  // namespace

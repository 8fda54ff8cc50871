// The positions against loops over doubles.
#include "headwright/position.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "headwright/errors.h"
#include "helpers/variants.h"
#include "reference/loops.h"

namespace {

using headwright::Dims;
using headwright::Position;
using headwright::Value;

double channel(std::int64_t position, std::int64_t c, std::int64_t d_model, bool interleaved) {
  const auto half = (d_model + 1) / 2;
  const auto pair = interleaved ? c / 2 : c % half;
  const auto is_sine = interleaved ? c % 2 == 0 : c < half;
  const double angle = double(position) / std::pow(10000.0, 2.0 * double(pair) / double(d_model));
  return is_sine ? std::sin(angle) : std::cos(angle);
}

void expect_sinusoids(std::int64_t d_model, const std::string& arrangement) {
  SCOPED_TRACE(arrangement + ", d_model " + std::to_string(d_model));
  const auto module =
      headwright::test::make<Position>("sinusoidal", {.d_model = d_model}, {{"arrangement", Value{arrangement}}});
  const auto positions = at::tensor({0, 1, 2, 5, 999}, at::kLong);
  const auto x = at::full({2, 5, d_model}, 3.0, at::kDouble);
  const auto y = module->embed(x, positions);
  ASSERT_EQ(y.sizes(), x.sizes());
  const auto got = y.accessor<double, 3>();
  for (std::int64_t b = 0; b < 2; ++b) {
    for (std::int64_t i = 0; i < 5; ++i) {
      for (std::int64_t c = 0; c < d_model; ++c) {
        const auto expected = 3 + channel(positions[i].item<std::int64_t>(), c, d_model, arrangement == "interleaved");
        ASSERT_NEAR(got[b][i][c], expected, 1e-11) << i << ", " << c;
      }
    }
  }
}

TEST(Sinusoidal, EqualsThePapersFormulaInBothArrangements) {
  for (const std::int64_t d_model : {1, 2, 6, 7}) {
    expect_sinusoids(d_model, "interleaved");
    expect_sinusoids(d_model, "split");
  }
}

TEST(Sinusoidal, KeepsItsDigitsInAHalfType) {
  const auto module = headwright::test::make<Position>("sinusoidal", {.d_model = 8});
  module->to(at::kBFloat16);
  const auto positions = at::tensor({1001}, at::kLong);  // not a bfloat16 number
  const auto half = module->embed(at::zeros({1, 1, 8}, at::kBFloat16), positions);
  EXPECT_EQ(half.scalar_type(), at::kBFloat16);
  const auto full = module->embed(at::zeros({1, 1, 8}), positions);
  EXPECT_LE((half.to(at::kFloat) - full).abs().max().item<double>(), 1.0 / 256);  // half a unit in the last of 8 bits
}

TEST(Sinusoidal, HasNothingToLearnOrStore) {
  const auto module = headwright::test::make<Position>("sinusoidal", {.d_model = 6});
  EXPECT_TRUE(module->parameters().empty());
  EXPECT_TRUE(module->buffers().empty());
}

TEST(Sinusoidal, TakesPositionsOfEachSequence) {
  const auto module = headwright::test::make<Position>("sinusoidal", {.d_model = 6});
  const auto x = at::zeros({2, 3, 6});
  const auto positions = at::tensor({0, 1, 2, 7, 8, 9}, at::kLong).view({2, 3});
  EXPECT_TRUE(at::equal(module->embed(x, positions)[1], module->embed(x, positions[1])[0]));
}

TEST(Learned, AddsTheVectorOfEachPlace) {
  const auto module = headwright::test::make<Position>("learned", {.d_model = 3, .context_length = 4});
  const auto weight = module->named_parameters()["weight"];
  ASSERT_EQ(weight.sizes(), (std::vector<std::int64_t>{4, 3}));
  const auto x = at::randn({2, 2, 3});
  const auto y = module->embed(x, at::tensor({3, 1}, at::kLong));
  for (std::int64_t b = 0; b < 2; ++b) {
    EXPECT_TRUE(at::equal(y[b][0], x[b][0] + weight[3]));
    EXPECT_TRUE(at::equal(y[b][1], x[b][1] + weight[1]));
  }
  y.sum().backward();
  EXPECT_TRUE(at::equal(weight.grad().sum(1), at::tensor({0.0f, 6.0f, 0.0f, 6.0f})));  // two sequences, three features
}

TEST(Learned, RefusesASequenceLongerThanItsPlaces) {
  const auto module = headwright::test::make<Position>("learned", {.d_model = 3, .context_length = 4});
  try {
    module->embed(at::zeros({1, 5, 3}), at::arange(5));
    FAIL() << "a fifth place";
  } catch (const headwright::ShapeError& error) {
    EXPECT_STREQ(error.what(), "[learned] positions: got (5,), expected at most context_length = 4 places");
  }
}

TEST(Learned, AsksForTheContextLength) {
  EXPECT_THAT(headwright::test::issues("learned", {.d_model = 3}),
              testing::ElementsAre(testing::StartsWith("context_length:")));
}

TEST(Positions, ClaimToAddToEmbeddingsAndNothingElse) {
  for (const std::string variant : {"learned", "sinusoidal"}) {
    const auto claims = headwright::test::variant(variant).claims({.d_model = 3, .context_length = 4}, {});
    EXPECT_TRUE(claims.embed) << variant;
    EXPECT_FALSE(claims.rotate || claims.bias) << variant;
  }
}

}  // namespace

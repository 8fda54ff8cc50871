// The checks of lessons pass and fail where they should.
#include "lessons/lesson_checks.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "headwright/errors.h"

namespace headwright::lessons {
namespace {

at::Tensor causal_weights() { return at::tensor({1.0, 0.0, 0.25, 0.75}, at::kDouble).view({2, 2}); }

TEST(LessonCheck, FiguresHoldToFourDecimals) {
  const auto tensor = at::tensor({0.95440, 1.49501});
  EXPECT_TRUE(check_figures("", tensor, {.9544, 1.4950}).passed);
  const auto wrong = check_figures("scores", tensor, {.9544, 1.4960});
  EXPECT_FALSE(wrong.passed);
  EXPECT_EQ(wrong.detail, "got 0.9544 1.4950, expected 0.9544 1.4960");
  EXPECT_FALSE(check_figures("", tensor, {.9544}).passed);
  EXPECT_FALSE(check_figures("", at::tensor({NAN, 1.4950F}), {.9544, 1.4950}).passed);
}

TEST(LessonCheck, ShapeNamesBoth) {
  EXPECT_TRUE(check_shape("", at::zeros({2, 6}), {2, 6}).passed);
  const auto wrong = check_shape("", at::zeros({2, 6}), {2, 6, 1});
  EXPECT_FALSE(wrong.passed);
  EXPECT_EQ(wrong.detail, "got (2, 6), expected (2, 6, 1)");
}

TEST(LessonCheck, SameBitsTellsTheLastBit) {
  const auto one = at::tensor({1.0F}), next = at::tensor({std::nextafter(1.0F, 2.0F)});
  EXPECT_TRUE(check_same_bits("", one, one.clone()).passed);
  EXPECT_FALSE(check_same_bits("", one, next).passed);
  EXPECT_TRUE(check_close("", one, next).passed);
  EXPECT_FALSE(check_differs("", one, next).passed);
}

TEST(LessonCheck, CloseAndDiffersArePartedByRounding) {
  const auto a = at::tensor({1.0F, 2.0F}), b = at::tensor({1.0F, 2.001F});
  EXPECT_FALSE(check_close("", a, b).passed);
  EXPECT_TRUE(check_differs("", a, b).passed);
  EXPECT_FALSE(check_close("", a, a.unsqueeze(0)).passed);
  EXPECT_FALSE(check_close("", a, at::tensor({1.0F, NAN})).passed);
}

TEST(LessonCheck, RowsThatDoNotSumToOneFail) {
  EXPECT_TRUE(check_rows_sum_to_one("", causal_weights()).passed);
  EXPECT_FALSE(check_rows_sum_to_one("", causal_weights() * 0.99).passed);
  EXPECT_FALSE(check_rows_sum_to_one("", causal_weights() * NAN).passed);
}

TEST(LessonCheck, AnyWeightOnTheFutureFails) {
  EXPECT_TRUE(check_no_weight_on_the_future("", causal_weights()).passed);
  EXPECT_FALSE(check_no_weight_on_the_future("", causal_weights().t()).passed);
  EXPECT_FALSE(check_no_weight_on_the_future("", causal_weights() + 1e-9).passed);
}

TEST(LessonCheck, AnElementThatIsNotAmongTheAllowedFails) {
  const auto two = at::tensor({0.0, 2.0, 2.0});
  EXPECT_EQ(check_elements_among("", two, {0, 2}).detail, "1 are 0.0000, 2 are 2.0000, 0 are neither");
  EXPECT_TRUE(check_elements_among("", two, {0, 2}).passed);
  EXPECT_FALSE(check_elements_among("", two, {0, 1}).passed);
}

TEST(LessonCheck, ARefusalIsQuotedAndItsAbsenceFails) {
  const auto refused = check_refused("", [] { throw ShapeError("too long\nsecond line"); });
  EXPECT_TRUE(refused.passed);
  EXPECT_EQ(refused.detail, "too long");
  EXPECT_FALSE(check_refused("", [] {}).passed);
}

TEST(Figures, AreShortAndKeepTinyNumbersVisible) {
  EXPECT_EQ(figures(at::tensor({0.5, -1.25, 3e-9}, at::kDouble)), "0.5000 -1.2500 3.0e-09");
  EXPECT_EQ(figures(at::zeros({20}), 2), "0.0000 0.0000 ...");
}

}  // namespace
}  // namespace headwright::lessons

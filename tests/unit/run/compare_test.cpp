#include "run/compare.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace headwright::run {
namespace {

at::Tensor row(std::vector<double> values) { return at::tensor(values, at::kDouble); }

TEST(Compare, FindsTheLargestDifference) {
  const auto result = compare({{"y", row({1, 2, 4})}}, {{"y", row({1, 2.5, 4})}});
  EXPECT_EQ(result.max_abs_error, 0.5);
  EXPECT_EQ(result.max_rel_error, 0.2);
}

TEST(Compare, TensorsOnOneSideAloneAreInfinitelyFar) {
  const auto result = compare({{"a", row({1})}}, {{"b", row({1})}});
  ASSERT_EQ(result.tensors.size(), 2U);
  EXPECT_EQ(result.tensors[0].detail, "only in the first");
  EXPECT_EQ(result.tensors[1].detail, "only in the second");
  EXPECT_TRUE(std::isinf(result.max_abs_error));
}

TEST(Compare, OtherShapesAreInfinitelyFar) {
  const auto result = compare({{"y", row({1, 2})}}, {{"y", row({1, 2, 3})}});
  EXPECT_EQ(result.tensors[0].detail, "shapes differ: (2,) and (3,)");
  EXPECT_TRUE(std::isinf(result.max_abs_error));
}

TEST(Compare, NotANumberEqualsItselfAndNothingElse) {
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(compare({{"y", row({nan, inf})}}, {{"y", row({nan, inf})}}).max_abs_error, 0);
  EXPECT_TRUE(std::isinf(compare({{"y", row({nan})}}, {{"y", row({1})}}).max_abs_error));
  EXPECT_TRUE(std::isinf(compare({{"y", row({inf})}}, {{"y", row({-inf})}}).max_abs_error));
}

TEST(Compare, EmptyTensorsAreEqual) { EXPECT_EQ(compare({{"y", row({})}}, {{"y", row({})}}).max_abs_error, 0); }

}  // namespace
}  // namespace headwright::run

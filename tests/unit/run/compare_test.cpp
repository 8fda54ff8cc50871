// Tensors are compared with NaN, infinity and integers taken for what they are.
#include "run/compare.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace headwright::run {
namespace {

at::Tensor row(const std::vector<double>& values) { return at::tensor(values, at::kDouble); }

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

constexpr double kNan = std::numeric_limits<double>::quiet_NaN(), kInf = std::numeric_limits<double>::infinity();

TEST(Compare, CountsWhatIsNotANumberOnBothSidesAndOnOne) {
  const auto result = compare({{"y", row({kNan, kInf, 1, kNan})}}, {{"y", row({kNan, kInf, 1, kNan})}});
  EXPECT_EQ(result.max_abs_error, 0);
  EXPECT_EQ(result.values, 4);
  EXPECT_EQ(result.nan, 2);
  EXPECT_EQ(result.one_sided_nan, 0);
  for (const auto dtype : {at::kDouble, at::kFloat, at::kHalf, at::kBFloat16}) {
    const auto one = compare({{"y", row({kNan, 1}).to(dtype)}}, {{"y", row({2, 1}).to(dtype)}});
    EXPECT_TRUE(std::isinf(one.max_abs_error)) << dtype;
    EXPECT_EQ(one.one_sided_nan, 1) << dtype;
    EXPECT_EQ(one.nan, 0) << dtype;
  }
  EXPECT_TRUE(std::isinf(compare({{"y", row({kNan})}}, {{"y", row({1})}}).max_abs_error));
  EXPECT_TRUE(std::isinf(compare({{"y", row({kInf})}}, {{"y", row({-kInf})}}).max_abs_error));
}

TEST(Compare, IntegersAreComparedExactly) {
  const std::int64_t most = std::numeric_limits<std::int64_t>::max(), large = std::int64_t{1} << 53;
  const auto gap = [](std::int64_t a, std::int64_t b) {
    return compare({{"y", at::tensor(a, at::kLong)}}, {{"y", at::tensor(b, at::kLong)}}).max_abs_error;
  };
  EXPECT_EQ(gap(large, large + 1), 1);
  EXPECT_EQ(gap(most, most - 1), 1);
  EXPECT_EQ(gap(-most, -most - 1), 1);
  EXPECT_EQ(gap(-most - 1, most), 0x1p64);
  EXPECT_EQ(gap(most, most), 0);
  for (const auto dtype : {at::kByte, at::kChar, at::kShort, at::kInt, at::kBool}) {
    const auto zero = at::zeros({2}, dtype), one = at::ones({2}, dtype);
    EXPECT_EQ(compare({{"y", zero}}, {{"y", one}}).max_abs_error, 1) << dtype;
  }
}

TEST(Compare, IntegersBesideFloatsAreComparedExactly) {
  const auto integer = at::full({1}, std::int64_t{9007199254740993}, at::kLong);  // 2^53 + 1
  EXPECT_EQ(compare({{"y", integer}}, {{"y", row({9007199254740992.0})}}).max_abs_error, 1);
}

TEST(Compare, ATensorWhoseDtypeIsNotReadIsNamedAndNotEqual) {
  const tensor_io::Safetensors plain{.tensors = {{"x", row({1})}}, .metadata = {}, .unread = {}};
  auto exotic = plain;
  exotic.unread.push_back({"scale", "F8_E4M3"});
  for (const auto& other : {plain, exotic}) {
    const auto result = compare_files(exotic, other);
    ASSERT_EQ(result.tensors.size(), 2U);
    EXPECT_EQ(result.tensors[0].max_abs_error, 0);
    EXPECT_EQ(result.tensors[1].name, "scale");
    EXPECT_EQ(result.tensors[1].detail, "its dtype F8_E4M3 is not read");
    EXPECT_TRUE(std::isinf(result.max_abs_error));
  }
}

TEST(Compare, EmptyTensorsAreEqual) { EXPECT_EQ(compare({{"y", row({})}}, {{"y", row({})}}).max_abs_error, 0); }

}  // namespace
}  // namespace headwright::run

// Reshapes and messages about shapes.
#include "headwright/shapes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/core/traced.h"

namespace headwright {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TEST(Shapes, SplitHeadsPutsAdjacentChannelsIntoOneHeadAndMergeUndoesIt) {
  const auto x = at::arange(2 * 3 * 6).view({2, 3, 6});
  const auto heads = split_heads(x, 2);
  EXPECT_EQ(heads.sizes(), at::IntArrayRef({2, 2, 3, 3}));
  EXPECT_TRUE(heads[1][1][2].equal(x[1][2].slice(0, 3)));
  EXPECT_TRUE(merge_heads(heads).equal(x));
}

TEST(Shapes, SplitHeadsRefusesAWidthThatDoesNotDivide) {
  EXPECT_THAT([] { split_heads(at::zeros({2, 3, 7}), 2); },
              ThrowsMessage<ShapeError>(HasSubstr("[split_heads] x: got (2, 3, 7), expected")));
}

TEST(Shapes, PositionsCountAlongTheDimensionInEveryDtype) {
  for (const auto dtype : {at::kFloat, at::kDouble, at::kHalf, at::kBFloat16, at::kLong, at::kBool}) {
    const auto positions = positions_along(at::zeros({2, 5, 3}, dtype), 1);
    EXPECT_TRUE(positions.equal(at::arange(5))) << toString(dtype);
    EXPECT_EQ(positions.scalar_type(), at::kLong);
  }
}

TEST(Shapes, TracedPositionsFollowTheLengthAtOtherShapesAndInAnEmptyBatch) {
  for (const auto dtype : {at::kFloat, at::kHalf, at::kBFloat16, at::kLong, at::kBool}) {
    const auto run =
        testing::traced([](const auto& in) { return positions_along(in[0], 1); }, {at::ones({2, 4, 3}, dtype)});
    for (const auto& shape : std::vector<std::vector<std::int64_t>>{{1, 1, 3}, {5, 17, 3}, {0, 6, 3}, {3, 0, 3}}) {
      EXPECT_TRUE(run({at::ones(shape, dtype)}).equal(at::arange(shape[1]))) << toString(dtype) << " " << shape;
    }
  }
}

TEST(Shapes, TracedPositionsCountTheLastDimensionToo) {
  const auto run = testing::traced([](const auto& in) { return positions_along(in[0], -1); }, {at::ones({2, 4})});
  EXPECT_TRUE(run({at::ones({3, 9})}).equal(at::arange(9)));
}

TEST(Shapes, TracedPositionsOfNanAreStillPositions) {
  const auto run = testing::traced([](const auto& in) { return positions_along(in[0], 1); }, {at::ones({2, 4, 3})});
  EXPECT_TRUE(run({at::full({1, 3, 3}, NAN)}).equal(at::arange(3)));
}

TEST(Shapes, TracedHeadsSplitAndMergeAtOtherShapes) {
  const auto split = testing::traced([](const auto& in) { return split_heads(in[0], 2); }, {at::rand({2, 4, 6})});
  const auto merge = testing::traced([](const auto& in) { return merge_heads(in[0]); }, {at::rand({2, 2, 4, 3})});
  for (const auto& shape : std::vector<std::vector<std::int64_t>>{{1, 1, 6}, {5, 17, 6}, {0, 6, 6}}) {
    const auto x = at::rand(shape);
    EXPECT_TRUE(split({x}).equal(split_heads(x, 2))) << shape;
    EXPECT_TRUE(merge({split_heads(x, 2)}).equal(x)) << shape;
  }
}

TEST(Shapes, SliceMaskTakesTheFirstRowsAndColumnsTracedOrNot) {
  const auto mask = at::ones({8, 8}, at::kBool).tril();
  const auto run =
      testing::traced([](const auto& in) { return slice_mask(in[0], in[1]); }, {mask, at::rand({2, 4, 3})});
  for (const std::int64_t seq_len : {1, 3, 8}) {
    const auto x = at::rand({2, seq_len, 3}), expected = mask.slice(0, 0, seq_len).slice(1, 0, seq_len);
    EXPECT_TRUE(slice_mask(mask, x).equal(expected));
    EXPECT_TRUE(run({mask, x}).equal(expected));
  }
}

TEST(Shapes, SliceMaskRefusesASequenceLongerThanTheMask) {
  EXPECT_THAT(
      [] { slice_mask(at::ones({4, 4}), at::zeros({2, 5, 3})); },
      ThrowsMessage<ShapeError>("[slice_mask] x: got (2, 5, 3), expected seq of at most 4, the context length"));
}

TEST(Shapes, TextOfAShapeNamesAnAbsentTensor) {
  EXPECT_EQ(shape_text(at::zeros({2, 3})), "(2, 3)");
  EXPECT_EQ(shape_text(at::zeros({3})), "(3,)");
  EXPECT_EQ(shape_text(at::Tensor()), "nothing");
}

}  // namespace
}  // namespace headwright

// What a trace of the core records is right at lengths and batch sizes that it has not seen.
#include <gtest/gtest.h>

#include <array>
#include <span>

#include "headwright/attend.h"
#include "unit/core/traced.h"

namespace headwright {
namespace {

struct Shape {
  std::int64_t batch, q_len, k_len;
};

std::vector<at::Tensor> draw(const Shape& shape, bool with_key_mask) {
  std::vector<at::Tensor> tensors{at::randn({shape.batch, 4, shape.q_len, 8}),
                                  at::randn({shape.batch, 2, shape.k_len, 8}),
                                  at::randn({shape.batch, 2, shape.k_len, 8})};
  if (with_key_mask) tensors.push_back(at::rand({shape.batch, shape.k_len}) < 0.6);
  return tensors;
}

void expect_trace_equals_eager(const Scoring& scoring, std::span<const Shape> shapes, bool with_key_mask) {
  const auto run = [scoring](const std::vector<at::Tensor>& in) {
    auto asked = scoring;
    if (in.size() > 3) asked.key_mask = in[3];
    return attend(in[0], in[1], in[2], asked).y;
  };
  const auto recorded = testing::traced(run, draw(shapes[0], with_key_mask));
  for (const auto& shape : shapes) {
    const auto inputs = draw(shape, with_key_mask);
    EXPECT_TRUE(recorded(inputs).allclose(run(inputs), 1e-5, 1e-6))
        << scoring.kernel << " " << scoring.mask.to_string() << " key mask " << with_key_mask << " at " << shape.batch
        << ", " << shape.q_len << ", " << shape.k_len;
  }
}

constexpr std::array kUnequal{Shape{2, 4, 6},  Shape{1, 1, 1},  Shape{3, 7, 7}, Shape{2, 9, 5},
                              Shape{1, 5, 17}, Shape{4, 1, 64}, Shape{0, 4, 6}};
constexpr std::array kEqual{Shape{2, 6, 6}, Shape{1, 1, 1},   Shape{3, 17, 17},
                            Shape{4, 5, 5}, Shape{1, 64, 64}, Shape{0, 6, 6}};

TEST(Trace, AttendRunsAtOtherShapesForEveryMaskAndKernel) {
  const auto causal = Mask::causal(), window = Mask::window(3), padding = Mask::key_padding();
  for (const auto* kernel : {"sdpa", "reference"}) {
    for (const auto& mask :
         {Mask(), causal, window, padding, Mask::all({causal, padding}), Mask::any({window, padding}),
          Mask::negation(causal), Mask::negation(Mask()), Mask::band(2, 1), Mask::dilated(3, 2), Mask::strided(3),
          Mask::block_local(4), Mask::global(2), Mask::prefix(3), Mask::random(2, 3, 5)}) {
      for (const bool with_key_mask : {false, true}) {
        expect_trace_equals_eager({.mask = mask, .kernel = kernel}, kUnequal, with_key_mask);
        expect_trace_equals_eager({.mask = mask, .same_sequence = true, .kernel = kernel}, kEqual, with_key_mask);
      }
    }
  }
}

TEST(Trace, BlockwiseIsNotTraced) {
  EXPECT_THROW(expect_trace_equals_eager({.kernel = "blockwise"}, kEqual, false), Error);
}

TEST(Trace, ModifiersSinksAndNormalisersRunAtOtherShapes) {
  at::manual_seed(3);
  const auto slopes = at::rand({4}), table = at::randn({6, 4});
  for (const auto& scoring :
       {Scoring{.modifiers = {alibi(slopes)}}, Scoring{.modifiers = {relative_bias(table, true, 9)}},
        Scoring{.normaliser = Normaliser::softmax_one}, Scoring{.sink = slopes},
        Scoring{.normaliser = Normaliser::sigmoid}}) {
    expect_trace_equals_eager(scoring, kUnequal, true);
  }
}

TEST(Trace, SoftcapRunsAtOtherShapes) {
  expect_trace_equals_eager({.mask = Mask::causal(), .modifiers = {ScoreModifier::softcap(1)}}, kUnequal, true);
}

}  // namespace
}  // namespace headwright

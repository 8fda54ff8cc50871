// The quick part of the memory promise; tests/slow walks every mask and modifier.
#include "reference/blockwise_memory.h"

namespace headwright {
namespace {

TEST(BlockwiseMemory, AWindowWithEveryModifierNeedsLittle) {
  const auto slopes = at::rand({8}).requires_grad_(true), table = at::randn({32, 8}).requires_grad_(true);
  expect_small({.mask = Mask::window(256),
                .modifiers = {alibi(slopes), ScoreModifier::softcap(30), relative_bias(table, true, 128)},
                .sink = slopes},
               "window with modifiers and a sink");
  expect_small({.mask = Mask::window(256), .normaliser = Normaliser::sigmoid}, "window with the sigmoid");
}

}  // namespace
}  // namespace headwright

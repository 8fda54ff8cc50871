// Every mask and every modifier within 100 MB at (1, 8, 16384, 64): minutes of work.
#include <vector>

#include "reference/blockwise_memory.h"

namespace headwright {
namespace {

TEST(BlockwiseMemory, EveryMaskNeedsLittle) {
  const auto key_mask = at::rand({1, 16384}) < 0.9, ids = at::arange(16384).floor_divide(3000).unsqueeze(0);
  const std::vector<Scoring> masks = {{},
                                      {.mask = Mask::causal()},
                                      {.mask = Mask::window(512)},
                                      {.mask = Mask::band(200, 200)},
                                      {.mask = Mask::dilated(64, 4)},
                                      {.mask = Mask::all({Mask::causal(), Mask::strided(128)})},
                                      {.mask = Mask::block_local(512)},
                                      {.mask = Mask::any({Mask::band(128, 128), Mask::global(16)})},
                                      {.mask = Mask::any({Mask::causal(), Mask::prefix(1000)})},
                                      {.mask = Mask::all({Mask::causal(), Mask::random(4, 64, 1)})},
                                      {.mask = Mask::negation(Mask::window(512))},
                                      {.mask = Mask::causal(), .key_mask = key_mask},
                                      {.mask = Mask::document(), .document_ids = ids}};
  for (const auto& scoring : masks) expect_small(scoring, scoring.mask.to_string());
}

TEST(BlockwiseMemory, EveryModifierAndNormaliserNeedsLittle) {
  const auto slopes = at::rand({8}).requires_grad_(true), table = at::randn({32, 8}).requires_grad_(true);
  const auto causal = Mask::causal();
  expect_small({.mask = causal, .modifiers = {ScoreModifier::softcap(30)}}, "softcap");
  expect_small({.mask = causal, .modifiers = {alibi(slopes)}}, "alibi");
  expect_small({.mask = causal, .modifiers = {relative_bias(table, false, 128)}}, "relative_bias");
  expect_small({.mask = causal, .modifiers = {alibi(slopes), ScoreModifier::softcap(30)}, .sink = slopes}, "together");
  expect_small({.mask = causal, .normaliser = Normaliser::softmax_one}, "softmax_one");
  expect_small({.mask = causal, .normaliser = Normaliser::sigmoid}, "sigmoid");
}

}  // namespace
}  // namespace headwright

// Drawings of masks show what the masks show.
#include "core/masks/mask_drawing.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headwright {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(MaskDrawing, DrawsEachPairAsACharacter) {
  const auto view = core::view_mask({.mask = Mask::window(2)}, 4, 4, 2, 48);
  EXPECT_THAT(core::draw_text(view), ElementsAre("#...", "##..", ".##.", "..##"));
  EXPECT_DOUBLE_EQ(view.density, 7.0 / 16);
  EXPECT_EQ(view.empty, 1);
  EXPECT_EQ(view.partial, 3);
  EXPECT_EQ(view.full, 0);
}

TEST(MaskDrawing, CausalIsAlignedToTheEndOfTheKeys) {
  const auto view = core::view_mask({.mask = Mask::causal()}, 2, 4, 1, 48);
  EXPECT_THAT(core::draw_text(view), ElementsAre("###.", "####"));
}

TEST(MaskDrawing, LongSequencesShareCells) {
  const auto view = core::view_mask({.mask = Mask::causal()}, 1000, 1000, 128, 4);
  EXPECT_EQ(view.cell, 250);
  EXPECT_THAT(core::draw_text(view), ElementsAre("+...", "#+..", "##+.", "###+"));
  EXPECT_NEAR(view.density, 0.5005, 1e-9);  // n (n + 1) / 2 of n^2 pairs
  EXPECT_EQ(view.full + view.partial + view.empty, 64);
  EXPECT_EQ(view.partial, 8);
}

TEST(MaskDrawing, ShowsWhatTheFirstRowOfTheBatchSees) {
  const auto key_mask = at::tensor({1, 1, 0}, at::kByte).to(at::kBool).unsqueeze(0);
  const auto padded = core::view_mask({.mask = Mask::causal(), .key_mask = key_mask}, 3, 3, 1, 48);
  EXPECT_THAT(core::draw_text(padded), ElementsAre("#..", "##.", "##."));
  const auto ids = at::tensor({0, 0, 1}, at::kLong).unsqueeze(0);
  const auto documents = core::view_mask({.mask = Mask::document(), .document_ids = ids}, 3, 3, 1, 48);
  EXPECT_THAT(core::draw_text(documents), ElementsAre("##.", "##.", "..#"));
}

TEST(MaskDrawing, ThePictureNamesTheMaskAndEscapesItsTitle) {
  const auto svg = core::draw_svg(core::view_mask({.mask = Mask::window(3)}, 8, 8, 4, 48), "a<b & c");
  EXPECT_THAT(svg, HasSubstr("<svg xmlns='http://www.w3.org/2000/svg'"));
  EXPECT_THAT(svg, HasSubstr("a&lt;b &amp; c"));
  EXPECT_THAT(svg, HasSubstr("window(3)"));
  EXPECT_THAT(svg, HasSubstr("32.8% visible; tiles of 4: 1 empty, 3 partial, 0 full"));
}

}  // namespace
}  // namespace headwright

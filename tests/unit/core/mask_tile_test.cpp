// What a mask says of a tile holds for every pair in it.
#include <gtest/gtest.h>

#include "core/kernels/kernel.h"
#include "reference/attend_cases.h"

namespace headwright {
namespace {

/// Pairs in the tile, and how many of them are visible.
std::pair<long, long> counted(const at::Tensor& visible, const TileRange& range, long shift) {
  const auto part = visible.slice(0, range.q_begin - shift, range.q_end - shift).slice(1, range.k_begin, range.k_end);
  return {part.numel(), part.sum().item<std::int64_t>()};
}

at::Tensor dense(const Mask& mask, long q_len, long k_len) {
  const auto q = at::empty({1, 1, q_len, 1}), k = at::empty({1, 1, k_len, 1});
  const auto visible = mask.visible(core::mask_inputs(q, k, {}));
  return visible.defined() ? visible.expand({q_len, k_len}) : at::ones({q_len, k_len}, at::kBool);
}

TEST(MaskTile, EmptyAndFullHoldForEveryPair) {
  for (const auto& mask : mask_cases()) {
    for (const auto& [q_len, k_len] : {std::pair{17L, 17L}, {5L, 17L}, {17L, 6L}, {1L, 40L}}) {
      const auto visible = dense(mask.mask, q_len, k_len);
      const auto shift = k_len - q_len;
      for (long size = 1; size <= 9; size += 2) {
        for (long q = 0; q < q_len; q += size) {
          for (long k = 0; k < k_len; k += size) {
            const TileRange range{.q_begin = q + shift,
                                  .q_end = std::min(q + size, q_len) + shift,
                                  .k_begin = k,
                                  .k_end = std::min(k + size, k_len),
                                  .k_len = k_len};
            const auto [pairs, seen] = counted(visible, range, shift);
            const auto tile = mask.mask.tile(range);
            if (tile == Tile::partial) continue;
            EXPECT_EQ(seen, tile == Tile::full ? pairs : 0) << mask.name;
          }
        }
      }
    }
  }
}

TEST(MaskTile, SparseMasksLeaveMostTilesOfALongSequenceEmpty) {
  auto cases = mask_cases();
  cases.push_back({"random blocks", Mask::random(2, 64, 1), {}});
  for (const auto& mask : cases) {
    if (!mask.mask.is_sparse()) continue;
    long empty = 0, all = 0;
    for (long q = 0; q < 2048; q += 64) {
      for (long k = 0; k < 2048; k += 64) {
        empty += mask.mask.tile({q, q + 64, k, k + 64, 2048}) == Tile::empty ? 1 : 0;
        ++all;
      }
    }
    EXPECT_GT(empty, all * 3 / 4) << mask.name;
  }
}

TEST(MaskTile, ASingleVisiblePairIsNeverEmpty) {
  for (const auto& mask : mask_cases()) {
    const auto visible = dense(mask.mask, 13, 13);
    for (long i = 0; i < 13; ++i) {
      for (long j = 0; j < 13; ++j) {
        const auto tile = mask.mask.tile({i, i + 1, j, j + 1, 13});
        EXPECT_NE(tile, visible[i][j].item<bool>() ? Tile::empty : Tile::full) << mask.name << " " << i << " " << j;
      }
    }
  }
}

}  // namespace
}  // namespace headwright

// Cuts queries and keys into rectangles, and leaves out those that the mask leaves empty.
#include "core/kernels/blockwise_blocks.h"

#include <algorithm>

namespace headwright::core {
namespace {

/// Appends a tile, or lengthens the last range by it.
void join(std::vector<KeyRange>& ranges, const KeyRange& tile, std::int64_t span) {
  if (!ranges.empty()) {
    auto& last = ranges.back();
    // A full range is computed without its mask, so it is not mixed with others unless both are small.
    const bool alike = last.masked == tile.masked || tile.end - last.begin <= span / 2;
    if (last.end == tile.begin && alike && tile.end - last.begin <= span) {
      last.end = tile.end;
      last.masked |= tile.masked;
      return;
    }
  }
  ranges.push_back(tile);
}

}  // namespace

std::vector<QueryBlock> plan_blocks(const Mask& mask, std::int64_t q_len, std::int64_t k_len, const BlockSizes& sizes) {
  std::vector<QueryBlock> blocks;
  for (std::int64_t q = 0; q < q_len; q += sizes.queries) {
    QueryBlock block{.begin = q, .end = std::min(q + sizes.queries, q_len)};
    TileRange range{.q_begin = block.begin + k_len - q_len, .q_end = block.end + k_len - q_len, .k_len = k_len};
    for (std::int64_t k = 0; k < k_len; k += sizes.keys) {
      range.k_begin = k;
      range.k_end = std::min(k + sizes.keys, k_len);
      const auto tile = mask.tile(range);
      if (tile != Tile::empty) join(block.keys, {k, range.k_end, tile == Tile::partial}, sizes.span);
    }
    blocks.push_back(std::move(block));
  }
  return blocks;
}

}  // namespace headwright::core

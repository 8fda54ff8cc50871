// A mask to look at: how much of it is visible, which tiles are empty, and a picture.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "headwright/attend.h"

namespace headwright::core {

/// What a mask shows at given lengths. Run-time masks are drawn as the first row of the batch sees them.
struct MaskView {
  std::string text;  // the mask as one would write it
  std::int64_t q_len = 0, k_len = 0, tile_size = 0;
  double density = 0;                             // visible pairs / all pairs
  std::int64_t empty = 0, partial = 0, full = 0;  // tiles, as the kernels know them without looking at the input
  std::vector<std::vector<double>> cells;         // share of each cell that is visible; a cell is `cell` x `cell` pairs
  std::int64_t cell = 1;
};

/// most_cells: rows and columns of the picture; longer sequences share a cell. scoring: mask, key_mask, document_ids.
MaskView view_mask(const Scoring& scoring, std::int64_t q_len, std::int64_t k_len, std::int64_t tile_size,
                   std::int64_t most_cells);

/// One line per row of cells: '#' visible, '.' hidden, '+' partly.
std::vector<std::string> draw_text(const MaskView& view);

/// A standalone picture: queries downwards, keys to the right.
std::string draw_svg(const MaskView& view, const std::string& title);

}  // namespace headwright::core

// Counts what is visible cell by cell, without a matrix of all pairs, and draws it as text or SVG.
#include "core/masks/mask_drawing.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <sstream>

#include "core/kernels/kernel.h"

namespace headwright::core {
namespace {

constexpr std::int64_t kSpan = 1024;  // keys that are looked at together

std::int64_t quotient_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

void count_tiles(const Mask& mask, MaskView& view) {
  const auto size = view.tile_size, shift = view.k_len - view.q_len;
  for (std::int64_t q = 0; q < view.q_len; q += size) {
    for (std::int64_t k = 0; k < view.k_len; k += size) {
      const auto tile = mask.tile({.q_begin = q + shift,
                                   .q_end = std::min(q + size, view.q_len) + shift,
                                   .k_begin = k,
                                   .k_end = std::min(k + size, view.k_len),
                                   .k_len = view.k_len});
      (tile == Tile::empty ? view.empty : tile == Tile::full ? view.full : view.partial) += 1;
    }
  }
}

/// How many of some queries see each key of a range, (keys). What is empty or full for all of them is not computed.
at::Tensor count_shown(const Mask& mask, const MaskInputs& inputs, const TileRange& range, std::int64_t first_query) {
  const auto rows = range.q_end - range.q_begin, keys = range.k_end - range.k_begin;
  const auto tile = mask.tile(range);
  if (tile != Tile::partial) return at::full({keys}, tile == Tile::full ? rows : 0, at::kDouble);
  const auto queries = at::arange(first_query, first_query + rows, at::kLong);
  const auto visible = mask.visible(slice(inputs, queries, range.k_begin, range.k_end));
  if (!visible.defined()) return at::full({keys}, rows, at::kDouble);
  // (1, 1, rows, keys), or fewer dimensions, or of size 1 where all are alike
  return visible.expand({1, 1, rows, keys}).sum(c10::IntArrayRef{0, 1, 2}, false, at::kDouble);
}

std::string percent(double share) {
  std::ostringstream text;
  text.precision(3);
  text << share * 100 << "%";
  return text.str();
}

std::string escaped(const std::string& text) {
  std::string safe;
  for (const char c : text) {
    if (c == '<') safe += "&lt;";
    else if (c == '&') safe += "&amp;";
    else safe += c;
  }
  return safe;
}

/// Neighbouring cells of one shade are one rectangle.
void draw_row(std::ostringstream& svg, const std::vector<double>& row, std::size_t y) {
  for (std::size_t x = 0; x < row.size();) {
    auto end = x + 1;
    while (end < row.size() && row[end] == row[x]) ++end;
    if (row[x] > 0) {
      svg << "<rect x='" << x << "' y='" << y << "' width='" << end - x << "' height='1'";
      if (row[x] < 1) svg << " fill-opacity='" << std::max(0.15, row[x]) << "'";
      svg << "/>\n";
    }
    x = end;
  }
}

}  // namespace

MaskView view_mask(const Scoring& scoring, std::int64_t q_len, std::int64_t k_len, std::int64_t tile_size,
                   std::int64_t most_cells) {
  const auto mask = mask_of(scoring);
  MaskView view{.text = scoring.mask.to_string(), .q_len = q_len, .k_len = k_len, .tile_size = tile_size};
  view.cell = std::max<std::int64_t>(1, quotient_up(std::max(q_len, k_len), most_cells));
  count_tiles(mask, view);
  const auto inputs = mask_inputs(at::empty({1, 1, q_len, 1}), at::empty({1, 1, k_len, 1}), scoring);
  double visible = 0;
  for (std::int64_t q = 0; q < q_len; q += view.cell) {  // a row of cells at a time: no seq x seq matrix
    const auto end = std::min(q + view.cell, q_len), shift = k_len - q_len;
    std::vector<at::Tensor> parts;
    for (std::int64_t k = 0; k < k_len; k += kSpan) {
      const TileRange range{q + shift, end + shift, k, std::min(k + kSpan, k_len), k_len};
      parts.push_back(count_shown(mask, inputs, range, q));
    }
    const auto columns = at::cat(parts);
    const auto* share = columns.const_data_ptr<double>();
    auto& row = view.cells.emplace_back();
    for (std::int64_t k = 0; k < k_len; k += view.cell) {
      const auto last = std::min(k + view.cell, k_len);
      double sum = 0;
      for (auto j = k; j < last; ++j) sum += share[j];
      visible += sum;
      row.push_back(sum / static_cast<double>((end - q) * (last - k)));
    }
  }
  view.density = q_len * k_len == 0 ? 0 : visible / (static_cast<double>(q_len) * static_cast<double>(k_len));
  return view;
}

std::vector<std::string> draw_text(const MaskView& view) {
  std::vector<std::string> lines;
  for (const auto& row : view.cells) {
    std::string line;
    for (const double share : row) line += share == 0 ? '.' : share == 1 ? '#' : '+';
    lines.push_back(line);
  }
  return lines;
}

std::string draw_svg(const MaskView& view, const std::string& title) {
  const auto rows = view.cells.size(), columns = rows == 0 ? 0 : view.cells[0].size();
  const double scale = 480.0 / static_cast<double>(std::max<std::size_t>({rows, columns, 1}));
  const double width = scale * static_cast<double>(columns), height = scale * static_cast<double>(rows);
  std::ostringstream svg;
  svg << "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 " << width + 80 << " " << height + 110
      << "' font-family='sans-serif' font-size='13'>\n<title>" << escaped(title) << "</title>\n"
      << "<rect width='100%' height='100%' fill='#ffffff'/>\n"
      << "<text x='50' y='22' font-size='15'>" << escaped(title) << "</text>\n"
      << "<text x='50' y='42' fill='#555'>" << escaped(view.text) << "</text>\n"
      << "<g transform='translate(50 66) scale(" << scale << ")' fill='#1f5fa8' shape-rendering='crispEdges'>\n"
      << "<rect width='" << columns << "' height='" << rows << "' fill='#eef1f5'/>\n";
  for (std::size_t y = 0; y < rows; ++y) draw_row(svg, view.cells[y], y);
  svg << "</g>\n<text x='50' y='60' fill='#555'>keys 0 to " << view.k_len - 1 << "</text>\n"
      << "<text transform='translate(42 " << 66 + height << ") rotate(-90)' fill='#555'>queries " << view.q_len - 1
      << " to 0</text>\n"
      << "<text x='50' y='" << height + 88 << "' fill='#555'>" << percent(view.density) << " visible; tiles of "
      << view.tile_size << ": " << view.empty << " empty, " << view.partial << " partial, " << view.full
      << " full</text>\n</svg>\n";
  return svg.str();
}

}  // namespace headwright::core

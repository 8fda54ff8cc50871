// Prints tensors and tables in columns.
#include "print.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "headwright/shapes.h"
#include "model/build.h"
#include "support/text.h"

namespace headwright::runner {
namespace {

constexpr std::int64_t kWhole = 1000;  // elements that are printed without leaving out the middle
constexpr std::int64_t kEdge = 3;      // what stays of each dimension otherwise
constexpr std::int64_t kJsonWhole = 4096;

struct Printer {
  int decimals;
  bool integers, all;
  int width = 0;

  std::string number(double value) const {
    std::array<char, 64> text{};
    std::snprintf(text.data(), text.size(), "%*.*f", width, integers ? 0 : decimals, value);
    return text.data();
  }

  std::string print(const at::Tensor& tensor, const std::string& indent) const {
    if (tensor.dim() == 0) return number(tensor.item<double>());
    const auto size = tensor.size(0);
    const bool row = tensor.dim() == 1;
    const std::string separator = row ? ", " : ",\n" + indent + " ";
    std::string text = "[";
    for (std::int64_t i = 0; i < size; ++i) {
      if (i > 0) text += separator;
      if (!all && size > 2 * kEdge && i == kEdge) {
        text += "..." + separator;
        i = size - kEdge;
      }
      text += print(tensor[i], indent + " ");
    }
    return text + "]";
  }
};

}  // namespace

std::string tensor_text(const at::Tensor& tensor, int decimals, bool full) {
  const std::string heading = shape_text(tensor) + " " + model::dtype_name(tensor.scalar_type());
  if (tensor.numel() == 0) return heading + "\nno elements";
  const auto values = tensor.detach().to(at::kCPU, at::kDouble);
  Printer printer{decimals, !tensor.is_floating_point(), full || tensor.numel() <= kWhole};
  const auto finite = values.masked_select(values.isfinite());
  const double largest = finite.numel() == 0 ? 0 : finite.abs().max().item<double>();
  const bool negative = finite.numel() > 0 && finite.min().item<double>() < 0;
  printer.width = static_cast<int>(printer.number(largest).size()) + (negative ? 1 : 0);
  return heading + "\n" + printer.print(values, "");
}

Json number_json(double number) {
  if (std::isnan(number)) return "nan";
  if (std::isinf(number)) return number > 0 ? "inf" : "-inf";
  return number;
}

Json tensor_json(const at::Tensor& tensor, bool full) {
  Json object;
  object["shape"] = tensor.sizes().vec();
  object["dtype"] = model::dtype_name(tensor.scalar_type());
  const auto flat = tensor.detach().to(at::kCPU, at::kDouble).flatten().contiguous();
  const auto count = full ? flat.numel() : std::min(flat.numel(), kJsonWhole);
  auto values = Json::array();
  for (std::int64_t i = 0; i < count; ++i) {
    const double value = flat.const_data_ptr<double>()[i];
    values.push_back(tensor.is_floating_point() ? number_json(value) : Json(static_cast<std::int64_t>(value)));
  }
  object["values"] = std::move(values);
  if (count < flat.numel()) object["truncated"] = true;
  return object;
}

std::string printable_lines(const std::string& text) {
  auto lines = support::split(text, '\n');
  for (auto& line : lines) line = support::printable(line, std::string::npos);
  return support::join(lines, "\n");
}

std::string table_text(std::vector<std::vector<std::string>> rows) {
  std::vector<std::size_t> widths;
  for (auto& row : rows) {
    for (auto& cell : row) cell = printable_lines(cell);  // a name or a path may hold anything
  }
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], support::count_characters(row[i]));
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      line += row[i];
      if (i + 1 < row.size()) line += std::string(widths[i] - support::count_characters(row[i]) + 2, ' ');
    }
    text += line + "\n";
  }
  return text;
}

}  // namespace headwright::runner

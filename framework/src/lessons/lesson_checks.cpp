// Compares tensors with what the tutorial prints, and says by how much they differ.
#include "lessons/lesson_checks.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <limits>

#include "headwright/shapes.h"
#include "support/text.h"

namespace headwright::lessons {
namespace {

at::Tensor plain(const at::Tensor& tensor) { return tensor.detach().to(at::kCPU, at::kDouble); }

std::string largest_difference(double value) { return "largest difference " + figure(value); }

}  // namespace

std::string figure(double number) {
  std::array<char, 32> text{};
  const bool tiny = number != 0 && std::abs(number) < 5e-5;
  std::snprintf(text.data(), text.size(), tiny ? "%.1e" : "%.4f", number);
  return text.data();
}

std::string figures(const at::Tensor& tensor, std::int64_t most) {
  const auto flat = plain(tensor).reshape(-1);
  std::vector<std::string> parts;
  for (std::int64_t i = 0; i < std::min(flat.numel(), most); ++i) parts.push_back(figure(flat[i].item<double>()));
  return support::join(parts, " ") + (flat.numel() > most ? " ..." : "");
}

double difference(const at::Tensor& a, const at::Tensor& b) {
  if (a.sizes() != b.sizes()) return std::numeric_limits<double>::infinity();
  if (a.numel() == 0) return 0;
  return (plain(a) - plain(b)).abs().max().item<double>();
}

double rounding(const at::Tensor& tensor) {
  switch (tensor.scalar_type()) {
    case at::kDouble:
      return 1e-12;
    case at::kHalf:
      return 4e-3;
    case at::kBFloat16:
      return 3e-2;
    default:
      return 2e-6;  // float32, a few units in the last place of numbers near 1
  }
}

LessonCheck check_shape(std::string name, const at::Tensor& tensor, const std::vector<std::int64_t>& expected) {
  const auto wanted = shape_text(at::empty(expected, at::kMeta));
  return {std::move(name), tensor.sizes() == expected, "got " + shape_text(tensor) + ", expected " + wanted};
}

LessonCheck check_figures(std::string name, const at::Tensor& tensor, const std::vector<double>& expected) {
  const auto wanted = at::tensor(expected, at::kDouble);
  const auto got = plain(tensor).reshape(-1);
  return {std::move(name), difference(got, wanted) < 1e-4, "got " + figures(got) + ", expected " + figures(wanted)};
}

LessonCheck check_same_bits(std::string name, const at::Tensor& a, const at::Tensor& b) {
  return {std::move(name), at::equal(a, b), largest_difference(difference(a, b))};
}

LessonCheck check_close(std::string name, const at::Tensor& a, const at::Tensor& b) {
  const auto value = difference(a, b);
  return {std::move(name), value <= rounding(a), largest_difference(value)};
}

LessonCheck check_differs(std::string name, const at::Tensor& a, const at::Tensor& b) {
  const auto value = difference(a, b);
  return {std::move(name), value > rounding(a), largest_difference(value)};
}

LessonCheck check_rows_sum_to_one(std::string name, const at::Tensor& weights) {
  const auto sums = plain(weights).sum(-1);
  const auto off = difference(sums, at::ones_like(sums));
  return {std::move(name), off <= rounding(weights), "sums: " + figures(sums, 6)};
}

LessonCheck check_no_weight_on_the_future(std::string name, const at::Tensor& weights) {
  const auto future = plain(weights).triu(1).abs();
  const auto largest = future.numel() == 0 ? 0 : future.max().item<double>();
  return {std::move(name), largest == 0, "largest weight above the diagonal " + figure(largest)};
}

LessonCheck check_elements_among(std::string name, const at::Tensor& tensor, const std::vector<double>& allowed) {
  const auto flat = plain(tensor).reshape(-1);
  std::vector<std::int64_t> counts(allowed.size());
  std::int64_t found = 0;
  for (std::size_t i = 0; i < allowed.size(); ++i) {
    counts[i] = flat.eq(allowed[i]).sum().item<std::int64_t>();
    found += counts[i];
  }
  std::string detail;
  for (std::size_t i = 0; i < allowed.size(); ++i) {
    detail += std::to_string(counts[i]) + " are " + figure(allowed[i]) + ", ";
  }
  return {std::move(name), found == flat.numel(), detail + std::to_string(flat.numel() - found) + " are neither"};
}

LessonCheck check_refused(std::string name, const std::function<void()>& attempt) {
  try {
    attempt();
  } catch (const std::exception& error) {
    const std::string message = error.what();
    return {std::move(name), true, message.substr(0, message.find('\n'))};
  }
  return {std::move(name), false, "nothing was refused"};
}

}  // namespace headwright::lessons

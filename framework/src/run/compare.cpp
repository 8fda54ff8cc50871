#include "run/compare.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <limits>

#include "headwright/shapes.h"

namespace headwright::run {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

TensorComparison incomparable(const std::string& name, const std::string& detail) {
  return {name, detail, kInfinite, kInfinite};
}

double largest(const at::Tensor& errors) { return errors.numel() == 0 ? 0 : errors.max().item<double>(); }

TensorComparison compare_pair(const std::string& name, const at::Tensor& a, const at::Tensor& b) {
  if (a.sizes() != b.sizes()) return incomparable(name, "shapes differ: " + shape_text(a) + " and " + shape_text(b));
  const auto x = a.detach().to(at::kCPU, at::kDouble), y = b.detach().to(at::kCPU, at::kDouble);
  const auto same = x.eq(y).logical_or(x.isnan().logical_and(y.isnan()));  // infinities of one sign included
  const auto gap = (x - y).abs().masked_fill(same, 0).nan_to_num(kInfinite, kInfinite);
  const auto scale = at::maximum(x.abs(), y.abs());
  const auto relative = (gap / scale).masked_fill(same, 0).nan_to_num(kInfinite, kInfinite);
  return {name, "", largest(gap), largest(relative)};
}

const at::Tensor* find(const tensor_io::Named& tensors, const std::string& name) {
  const auto found = std::ranges::find(tensors, name, &tensor_io::Named::value_type::first);
  return found == tensors.end() ? nullptr : &found->second;
}

}  // namespace

Comparison compare(const tensor_io::Named& a, const tensor_io::Named& b) {
  Comparison result;
  for (const auto& [name, tensor] : a) {
    const auto* other = find(b, name);
    result.tensors.push_back(other == nullptr ? incomparable(name, "only in the first")
                                              : compare_pair(name, tensor, *other));
  }
  for (const auto& [name, tensor] : b) {
    if (find(a, name) == nullptr) result.tensors.push_back(incomparable(name, "only in the second"));
  }
  for (const auto& tensor : result.tensors) {
    result.max_abs_error = std::max(result.max_abs_error, tensor.max_abs_error);
    result.max_rel_error = std::max(result.max_rel_error, tensor.max_rel_error);
  }
  return result;
}

}  // namespace headwright::run

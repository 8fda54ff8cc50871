// Compares tensors of equal names: shapes, dtypes, NaN, and the largest difference.
#include "run/compare.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "headwright/shapes.h"
#include "support/text.h"

namespace headwright::run {
namespace {

/// Holds every int64 and every double, and differences of int64 (64 bits of mantissa).
using Wide = long double;
static_assert(std::numeric_limits<Wide>::digits >= 64);

constexpr double kInfinite = std::numeric_limits<double>::infinity();

TensorComparison incomparable(const std::string& name, const std::string& detail) {
  return {.name = name, .detail = detail, .max_abs_error = kInfinite, .max_rel_error = kInfinite};
}

/// The elements of a tensor, each without loss.
class Values {
 public:
  explicit Values(const at::Tensor& tensor)
      : flat_(tensor.detach().to(at::kCPU, tensor.is_floating_point() ? at::kDouble : at::kLong).contiguous()),
        integers_(flat_.scalar_type() == at::kLong) {}

  Wide operator[](std::int64_t i) const {
    return integers_ ? static_cast<Wide>(flat_.const_data_ptr<std::int64_t>()[i])
                     : static_cast<Wide>(flat_.const_data_ptr<double>()[i]);
  }

 private:
  at::Tensor flat_;
  bool integers_;
};

/// Infinities of one sign are equal; a difference that is not finite is infinite.
void add_pair(TensorComparison& result, Wide a, Wide b) {
  if (a == b) return;
  if (std::isnan(a) && std::isnan(b)) {
    ++result.nan;
    return;
  }
  if (std::isnan(a) || std::isnan(b)) ++result.one_sided_nan;
  const Wide gap = std::fabs(a - b), relative = gap / std::max(std::fabs(a), std::fabs(b));
  const auto or_infinite = [](Wide error) { return std::isfinite(error) ? static_cast<double>(error) : kInfinite; };
  result.max_abs_error = std::max(result.max_abs_error, or_infinite(gap));
  result.max_rel_error = std::max(result.max_rel_error, or_infinite(relative));
}

TensorComparison compare_pair(const std::string& name, const at::Tensor& a, const at::Tensor& b) {
  if (a.sizes() != b.sizes()) return incomparable(name, "shapes differ: " + shape_text(a) + " and " + shape_text(b));
  const Values x(a), y(b);
  TensorComparison result{.name = name, .detail = "", .values = a.numel()};
  for (std::int64_t i = 0; i < result.values; ++i) add_pair(result, x[i], y[i]);
  return result;
}

const at::Tensor* find(const tensor_io::Named& tensors, const std::string& name) {
  const auto found = std::ranges::find(tensors, name, &tensor_io::Named::value_type::first);
  return found == tensors.end() ? nullptr : &found->second;
}

const std::string* unread_dtype(const tensor_io::Safetensors& file, const std::string& name) {
  const auto found = std::ranges::find(file.unread, name, &tensor_io::Unread::name);
  return found == file.unread.end() ? nullptr : &found->dtype;
}

/// Why the tensor called `name` cannot be compared; empty = both sides hold it.
std::string fault_of(const tensor_io::Safetensors& a, const tensor_io::Safetensors& b, const std::string& name) {
  const auto *unread = unread_dtype(a, name), *other = unread_dtype(b, name);
  if (unread == nullptr) unread = other;
  if (unread != nullptr) return "its dtype " + support::printable(*unread) + " is not read";
  if (find(b.tensors, name) == nullptr) return "only in the first";
  return find(a.tensors, name) == nullptr ? "only in the second" : "";
}

std::vector<std::string> names_of(const tensor_io::Safetensors& a, const tensor_io::Safetensors& b) {
  std::vector<std::string> names;
  for (const auto* file : {&a, &b}) {
    for (const auto& [name, tensor] : file->tensors) {
      if (file == &a || !find(a.tensors, name)) names.push_back(name);
    }
  }
  for (const auto* file : {&a, &b}) {
    for (const auto& [name, dtype] : file->unread) {
      if (std::ranges::find(names, name) == names.end()) names.push_back(name);
    }
  }
  return names;
}

}  // namespace

Comparison compare_files(const tensor_io::Safetensors& a, const tensor_io::Safetensors& b) {
  Comparison result;
  for (const auto& name : names_of(a, b)) {
    const auto fault = fault_of(a, b, name);
    const auto one =
        fault.empty() ? compare_pair(name, *find(a.tensors, name), *find(b.tensors, name)) : incomparable(name, fault);
    result.max_abs_error = std::max(result.max_abs_error, one.max_abs_error);
    result.max_rel_error = std::max(result.max_rel_error, one.max_rel_error);
    result.values += one.values;
    result.nan += one.nan;
    result.one_sided_nan += one.one_sided_nan;
    result.tensors.push_back(one);
  }
  return result;
}

Comparison compare(const tensor_io::Named& a, const tensor_io::Named& b) {
  return compare_files({.tensors = a, .metadata = {}, .unread = {}}, {.tensors = b, .metadata = {}, .unread = {}});
}

}  // namespace headwright::run

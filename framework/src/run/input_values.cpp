// Refuses finite numbers that the model's dtype cannot hold.
#include "run/input_values.h"

#include <ATen/ATen.h>

#include <limits>
#include <optional>

#include "bind/config.h"
#include "headwright/errors.h"
#include "model/build.h"
#include "support/text.h"

namespace headwright::run {
namespace {

/// Flat index of the first value that is finite and becomes infinite.
std::optional<std::int64_t> first_misfit(const at::Tensor& tensor, at::ScalarType dtype) {
  if (!tensor.is_floating_point() || !at::isFloatingType(dtype)) return {};
  const auto misfits = tensor.isfinite().logical_and(tensor.to(dtype).isfinite().logical_not()).flatten();
  if (!misfits.any().item<bool>()) return {};
  return misfits.to(at::kByte).argmax().item<std::int64_t>();
}

double largest(at::ScalarType dtype) {
  if (dtype == at::kHalf) return static_cast<double>(std::numeric_limits<c10::Half>::max());
  if (dtype == at::kBFloat16) return static_cast<double>(std::numeric_limits<c10::BFloat16>::max());
  return dtype == at::kFloat ? std::numeric_limits<float>::max() : std::numeric_limits<double>::max();
}

std::string misfit_text(double value, at::ScalarType dtype) {
  return "got " + support::number_text(value) + ", which " + model::dtype_name(dtype) +
         " does not hold, expected at most " + support::number_text(largest(dtype));
}

/// "0.3.1", the indices that lead to the element.
std::vector<std::int64_t> indices_of(std::int64_t flat, at::IntArrayRef shape) {
  std::vector<std::int64_t> indices(shape.size());
  for (std::size_t i = shape.size(); i-- > 0; flat /= shape[i]) indices[i] = flat % shape[i];
  return indices;
}

void check(const bind::Plan& plan, const bind::TensorSource& source, const std::string& path,
           std::vector<Problem>& problems) {
  if (source.from != bind::TensorSource::From::values || source.integers || source.values.empty()) return;
  const auto dtype = model::dtype_from(plan.run.dtype);
  const auto values = at::tensor(source.values, at::kDouble);
  const auto misfit = first_misfit(values, dtype);
  if (!misfit) return;
  auto place = path;
  for (const auto index : indices_of(*misfit, source.shape)) place += "." + std::to_string(index);
  const auto mark = bind::mark_of(plan, place).value_or(source.mark);
  problems.push_back({.file = mark.file,
                      .line = mark.line,
                      .column = mark.column,
                      .path = place,
                      .message = misfit_text(values[*misfit].item<double>(), dtype)});
}

}  // namespace

void expect_values_fit(const bind::Plan& plan) {
  std::vector<Problem> problems;
  check(plan, plan.input.x, "input.values", problems);
  check(plan, plan.input.memory, "input.memory.values", problems);
  if (!problems.empty()) throw ConfigError(std::move(problems));
}

void expect_fits(const at::Tensor& tensor, at::ScalarType dtype, const std::string& where) {
  const auto misfit = first_misfit(tensor, dtype);
  if (!misfit) return;
  std::vector<std::string> indices;
  for (const auto index : indices_of(*misfit, tensor.sizes())) indices.push_back(std::to_string(index));
  const auto value = tensor.flatten()[*misfit].item<double>();
  throw InputError(where + "at (" + support::join(indices, ", ") + "): " + misfit_text(value, dtype));
}

}  // namespace headwright::run

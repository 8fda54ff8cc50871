// Properties of outputs as a whole: shape, finiteness, repetition, dtype, state.
#include <ATen/ATen.h>

#include "check/properties.h"
#include "headwright/attend.h"
#include "headwright/shapes.h"

namespace headwright::check {
namespace {

/// Sums of a few hundred float64 terms of size 1, with room.
constexpr double kFloat64Noise = 1e-9;

std::vector<std::pair<std::int64_t, std::int64_t>> sizes(const Subject& subject) {
  const auto longest = subject.longest();
  return {{2, longest}, {1, 1}, {3, std::min<std::int64_t>(5, longest)}};
}

}  // namespace

std::string shape(const Subject& subject) {
  const auto module = subject.make();
  for (const auto& [batch, seq] : sizes(subject)) {
    const auto y = subject.call(*module, subject.draw(batch, seq));
    const std::vector<std::int64_t> expected{batch, seq, subject.d_out()};
    if (y.sizes() == expected) continue;
    return "got " + shape_text(y) + ", expected " + shape_text(at::empty(expected));
  }
  return "";
}

std::string finite(const Subject& subject) {
  const auto module = subject.make();
  for (const auto& [batch, seq] : sizes(subject)) {
    const auto y = subject.call(*module, subject.draw(batch, seq));
    if (!all_finite(y))
      return "NaN or infinity in the output at (" + std::to_string(batch) + ", " + std::to_string(seq) + ")";
  }
  return "";
}

std::string deterministic_in_eval(const Subject& subject) {
  const auto dropping = subject.with_dropout();
  const auto module = dropping.make();
  const auto inputs = dropping.draw(2, dropping.longest());
  const auto first = dropping.call(*module, inputs);
  const auto far = difference(first, dropping.call(*module, inputs));
  return far == 0 ? "" : "two calls in eval differ by " + std::to_string(far);
}

// NOLINTNEXTLINE(modernize-use-string-view): a property, like the others
std::string dropout_in_training(const Subject& subject) {
  const auto dropping = subject.with_dropout();
  const auto module = dropping.make();
  module->train();
  const auto inputs = dropping.draw(2, dropping.longest());
  const auto first = dropping.call(*module, inputs);
  return difference(first, dropping.call(*module, inputs)) > 0 ? ""
                                                               : "two calls in training are equal: nothing is dropped";
}

std::string batch_rows_independent(const Subject& subject) {
  const auto module = subject.make();
  const auto inputs = subject.draw(3, subject.longest());
  const auto together = subject.call(*module, inputs);
  for (std::int64_t row = 0; row < 3; ++row) {
    auto alone = inputs;
    alone.x = inputs.x.slice(0, row, row + 1);
    if (inputs.context.defined()) alone.context = inputs.context.slice(0, row, row + 1);
    const auto far = difference(subject.call(*module, alone), together.slice(0, row, row + 1));
    if (far > kFloat64Noise) {
      return "row " + std::to_string(row) + " of a batch differs from the same row alone by " + std::to_string(far);
    }
  }
  return "";
}

std::string dtypes(const Subject& subject) {
  const auto inputs = subject.draw(2, subject.longest());
  for (const auto dtype : {at::kDouble, at::kFloat, at::kBFloat16, at::kHalf}) {
    auto cast = inputs;
    cast.x = inputs.x.to(dtype);
    if (inputs.context.defined()) cast.context = inputs.context.to(dtype);
    const auto y = subject.call(*subject.make(dtype), cast);
    const std::string name = toString(dtype);
    if (y.scalar_type() != dtype) return name + " goes in, " + toString(y.scalar_type()) + " comes out";
    if (!all_finite(y)) return "NaN or infinity in the output in " + name;
  }
  return "";
}

std::string kernels(const Subject& subject) {
  const auto inputs = subject.draw(2, subject.longest());
  const auto y = subject.call(*subject.make(), inputs);
  for (const auto& name : kernel_names()) {
    auto dims = subject.dims;
    dims.kernel = name;
    const Subject forced(subject.variant, dims, subject.values);
    const auto module = forced.make();
    try {
      const auto effective = dynamic_cast<const Attention&>(*module).kernel().effective;
      if (effective != name) return "kernel '" + name + "' was asked for, and '" + effective + "' is taken";
    } catch (const Error&) {
      continue;  // it cannot express the variant, and says so
    }
    const auto far = difference(forced.call(*module, inputs), y);
    if (far > kFloat64Noise) return "kernel '" + name + "' gives an output that differs by " + std::to_string(far);
  }
  return "";
}

std::string state_round_trip(const Subject& subject) {
  const auto first = subject.make(at::kDouble, 123), second = subject.make(at::kDouble, 321);
  const at::NoGradGuard no_grad;
  const auto copy = [](const auto& from, auto to) {
    for (auto& item : to) item.value().copy_(from[item.key()]);
  };
  copy(first->named_parameters(), second->named_parameters());
  copy(first->named_buffers(), second->named_buffers());
  const auto inputs = subject.draw(2, subject.longest());
  const auto far = difference(subject.call(*first, inputs), subject.call(*second, inputs));
  return far == 0 ? "" : "with the same parameters and buffers another instance differs by " + std::to_string(far);
}

}  // namespace headwright::check

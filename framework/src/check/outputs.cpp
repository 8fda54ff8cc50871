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

std::vector<std::int64_t> expected_shape(const Subject& subject, std::int64_t batch, std::int64_t seq,
                                         const at::Tensor& y) {
  std::vector<std::int64_t> expected{batch, seq, subject.d_out()};
  if (subject.claims.pools) expected.erase(expected.begin() + 1);
  // An embedding of images or latents says itself how many vectors it makes
  else if (!subject.per_token() && subject.variant.kind == Kind::embedding && y.dim() == 3) expected[1] = y.size(1);
  return expected;
}

}  // namespace

std::string shape(const Subject& subject) {
  const auto module = subject.make();
  for (const auto& [batch, seq] : sizes(subject)) {
    const auto y = subject.call(*module, subject.draw(batch, seq));
    const auto expected = expected_shape(subject, batch, seq, y);
    if (y.sizes() == expected) continue;
    return "got " + shape_text(y) + ", expected " + shape_text(at::empty(expected));
  }
  return "";
}

bool makes_of_nothing(const Subject& subject, torch::nn::Module& module, const Inputs& inputs) try {
  subject.call(module, inputs);
  return true;
} catch (const Error&) {  // an operator's own error is another type
  return false;
}

namespace {

/// No tokens, no rows, neither, each without masks and with them; and a memory without tokens.
std::vector<std::pair<Inputs, std::string>> inputs_of_nothing(const Subject& subject) {
  const auto& claims = subject.claims;
  const auto longest = subject.longest();
  std::vector<std::pair<Inputs, std::string>> all;
  for (const auto& [batch, seq] : {std::pair<std::int64_t, std::int64_t>{2, 0}, {0, longest}, {0, 0}}) {
    auto inputs = subject.draw(batch, seq);
    const auto sizes = "(" + std::to_string(batch) + ", " + std::to_string(seq) + ")";
    all.emplace_back(inputs, "of batch and length " + sizes);
    if (subject.variant.kind != Kind::attention) continue;
    if (claims.key_mask && claims.memory) inputs.memory_mask = at::ones({batch, inputs.memory.size(1)}, at::kBool);
    if (claims.key_mask && !claims.memory) inputs.key_mask = at::ones({batch, seq}, at::kBool);
    if (claims.document_ids && !claims.memory) inputs.document_ids = at::zeros({batch, seq}, at::kLong);
    all.emplace_back(inputs, "of batch and length " + sizes + " with masks");
  }
  if (claims.memory) {
    all.emplace_back(subject.draw(2, longest), "of a memory of 0 tokens");
    all.back().first.memory = all.back().first.memory.slice(1, 0, 0);
  }
  return all;
}

}  // namespace

std::string nothing(const Subject& subject) {
  const auto module = subject.make();
  const at::NoGradGuard no_grad;
  for (const auto& [inputs, what] : inputs_of_nothing(subject)) {
    if (!inputs.x.defined() || !makes_of_nothing(subject, *module, inputs)) continue;
    const auto y = subject.call(*module, inputs);
    const auto expected = expected_shape(subject, inputs.x.size(0), inputs.x.size(1), y);
    if (y.sizes() == expected && all_finite(y)) continue;
    return what + " comes " + shape_text(y) + (all_finite(y) ? "" : " of NaN or infinity") + ", expected finite " +
           shape_text(at::empty(expected));
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
  return far == 0 ? "" : "two calls in eval differ by " + amount(far);
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

Inputs with_masks(const Subject& subject, Inputs inputs) {
  if (!subject.claims.key_mask) return inputs;
  const auto keys = (subject.claims.memory ? inputs.memory : inputs.x).size(1);
  auto visible = at::ones({3, keys}, at::kBool);
  visible.select(0, 1).slice(0, keys / 2).fill_(false);
  visible.select(0, 2).fill_(false);
  (subject.claims.memory ? inputs.memory_mask : inputs.key_mask) = std::move(visible);
  return inputs;
}

std::string batch_rows_independent(const Subject& subject) {
  const auto module = subject.make();
  const auto plain = subject.draw(3, subject.many());
  for (const auto& inputs : {plain, with_masks(subject, plain)}) {
    const auto together = subject.call(*module, inputs);
    for (std::int64_t row = 0; row < 3; ++row) {
      auto alone = inputs;
      for (auto* tensor : {&alone.x, &alone.memory, &alone.key_mask, &alone.memory_mask}) {
        if (tensor->defined()) *tensor = tensor->slice(0, row, row + 1);
      }
      const auto far = difference(subject.call(*module, alone), together.slice(0, row, row + 1));
      if (far <= kFloat64Noise) continue;
      return "row " + std::to_string(row) + " of a batch differs from the same row alone by " + amount(far);
    }
  }
  return "";
}

namespace {

/// The largest distance of a token's output from what float64 makes of the same numbers, as a share of the largest
/// output, of all tokens but the farthest tenth: rounding may turn a choice such as the largest scores.
double rounding_error(const at::Tensor& y, const at::Tensor& exact) {
  const auto of_tokens = (y.to(at::kDouble) - exact).abs().amax(-1).flatten();
  const auto most = std::get<0>(of_tokens.sort()).slice(0, 0, (of_tokens.numel() * 9 + 9) / 10).max().item<double>();
  return most / std::max(1.0, exact.abs().max().item<double>());
}

/// The inputs in `dtype`; the last token of each row is all zeros.
Inputs with_a_zero(const Inputs& given, at::ScalarType dtype) {
  auto inputs = cast(given, dtype);
  if (!inputs.x.defined() || !inputs.x.is_floating_point()) return inputs;
  inputs.x = inputs.x.clone();
  inputs.x.select(1, -1).zero_();
  return inputs;
}

}  // namespace

std::string dtypes(const Subject& subject) {
  struct Type {
    at::ScalarType dtype;
    double tolerance;
  };
  const at::NoGradGuard no_grad;
  const auto drawn = subject.draw(2, subject.many());
  for (const auto& [dtype, tolerance] :
       {Type{at::kDouble, 1e-12}, Type{at::kFloat, 1e-4}, Type{at::kBFloat16, 6e-2}, Type{at::kHalf, 1e-2}}) {
    const auto module = subject.make(dtype);
    const auto inputs = with_a_zero(drawn, dtype);
    const auto y = subject.call(*module, inputs);
    const std::string name = toString(dtype);
    if (y.scalar_type() != dtype) return name + " goes in, " + toString(y.scalar_type()) + " comes out";
    if (!all_finite(y)) return "NaN or infinity in the output in " + name + ", where a token is all zeros";
    module->to(at::kDouble);  // the same rounded numbers
    const auto far = rounding_error(y, subject.call(*module, with_a_zero(inputs, at::kDouble)));
    if (!(far <= tolerance)) return "in " + name + " the output is off by " + amount(far) + " of its largest";
  }
  return "";
}

namespace {

/// y, and the gradients of x, the memory and all parameters.
std::vector<std::pair<std::string, at::Tensor>> results_of(const Subject& subject, torch::nn::Module& module,
                                                           Inputs inputs) {
  std::vector<std::pair<std::string, at::Tensor>> results;
  std::vector<std::pair<std::string, at::Tensor>> leaves{{"x", inputs.x = inputs.x.detach().requires_grad_()}};
  if (inputs.memory.defined()) {
    leaves.emplace_back("memory", inputs.memory = inputs.memory.detach().requires_grad_());
  }
  for (const auto& item : module.named_parameters()) leaves.emplace_back(item.key(), item.value());
  const auto y = subject.call(module, inputs);
  results.emplace_back("an output", y.detach());
  if (!subject.claims.differentiable) return results;
  y.cos().sum().backward();
  for (auto& [name, leaf] : leaves) {
    results.emplace_back("a gradient of " + name, leaf.grad().defined() ? leaf.grad() : at::zeros_like(leaf));
  }
  return results;
}

}  // namespace

std::string kernels(const Subject& subject) {
  const auto inputs = with_masks(subject, subject.draw(3, subject.many()));
  const auto expected = results_of(subject, *subject.make(), inputs);
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
    const auto results = results_of(forced, *module, inputs);
    for (std::size_t i = 0; i < results.size(); ++i) {
      const auto far = difference(results[i].second, expected[i].second);
      if (!(far <= kFloat64Noise * std::max(1.0, expected[i].second.abs().max().item<double>()))) {
        return "kernel '" + name + "' gives " + results[i].first + " that differs by " + amount(far);
      }
    }
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
  return far == 0 ? "" : "with the same parameters and buffers another instance differs by " + amount(far);
}

}  // namespace headwright::check

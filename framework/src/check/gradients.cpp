// Gradients against central differences in float64, over inputs, memory and every parameter.
#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>

#include "check/properties.h"

namespace headwright::check {
namespace {

constexpr double kStep = 1e-5;       // truncation and rounding both near 1e-10 of the values
constexpr double kTolerance = 1e-6;  // relative to a gradient of size 1 or more
constexpr std::int64_t kSampled = 12;

struct Wanted {
  std::string name;
  at::Tensor tensor;
};

/// A few single elements, and one direction over all of them: no element is left out, whatever the size.
std::vector<at::Tensor> directions(const at::Tensor& tensor) {
  std::vector<at::Tensor> found;
  const auto count = tensor.numel();
  for (std::int64_t i = 0; i < std::min(count, kSampled); ++i) {
    auto direction = at::zeros({count}, at::kDouble);
    direction[i * count / std::min(count, kSampled)] = 1;
    found.push_back(direction.view(tensor.sizes()));
  }
  found.push_back(at::randn(tensor.sizes(), at::kDouble) /
                  std::sqrt(static_cast<double>(std::max<std::int64_t>(count, 1))));
  return found;
}

std::vector<Wanted> wanted(const Inputs& inputs, const torch::nn::Module& module) {
  std::vector<Wanted> all;
  if (inputs.x.defined() && inputs.x.is_floating_point()) all.push_back({"x", inputs.x});
  if (inputs.memory.defined() && inputs.x.defined()) all.push_back({"memory", inputs.memory});
  for (const auto& item : module.named_parameters()) all.push_back({item.key(), item.value()});
  return all;
}

}  // namespace

namespace {

std::string wrong_gradient(const Subject& subject, const Inputs& inputs) {
  const auto module = subject.make();
  const auto tensors = wanted(inputs, *module);
  for (const auto& [name, tensor] : tensors) tensor.requires_grad_(true);
  const auto y = subject.call(*module, inputs);
  const auto weights = at::randn(y.sizes(), at::kDouble);
  const auto loss = [&] { return (subject.call(*module, inputs) * weights).sum().item<double>(); };
  if (!y.requires_grad()) return "the output carries no gradient";
  (y * weights).sum().backward();

  const at::NoGradGuard no_grad;
  for (const auto& [name, tensor] : tensors) {
    if (!tensor.grad().defined()) return "no gradient reaches " + name;
    for (const auto& direction : directions(tensor)) {
      const auto before = tensor.clone();
      tensor.copy_(before + direction * kStep);
      const auto above = loss();
      tensor.copy_(before - direction * kStep);
      const auto numeric = (above - loss()) / (2 * kStep);
      tensor.copy_(before);
      const auto analytic = (tensor.grad() * direction).sum().item<double>();
      if (std::abs(numeric - analytic) <= kTolerance * std::max(1.0, std::abs(numeric))) continue;
      return "gradient of " + name + ": got " + amount(analytic) + ", central differences give " + amount(numeric);
    }
  }
  return "";
}

}  // namespace

std::string gradients(const Subject& subject) {
  const auto length = std::min<std::int64_t>(subject.longest(), 5);
  const auto fault = wrong_gradient(subject, subject.draw(2, length));
  if (!fault.empty()) return fault;
  if (subject.claims.key_mask) {
    const auto masked = wrong_gradient(subject, with_masks(subject, subject.draw(3, length)));
    if (!masked.empty()) return "with a key mask, " + masked;
  }
  if (subject.claims.document_ids && !subject.claims.memory) {
    auto packed = subject.draw(3, length);
    packed.document_ids = packed_documents(length);
    if (const auto wrong = wrong_gradient(subject, packed); !wrong.empty()) return "with documents, " + wrong;
  }
  return "";
}

}  // namespace headwright::check

// Casts copies of a component, and compares their traces for a dtype that was written down.
#include "exporter/dtypes.h"

#include <ATen/ATen.h>

namespace headwright::exporter {

InDtype::InDtype(const torch::nn::Module& module, at::ScalarType dtype) {
  const auto turn = [&](const at::Tensor& tensor) {
    if (!tensor.is_floating_point() || tensor.scalar_type() == dtype) return;
    const auto held = tensor.detach();  // shares what it holds, to come back to the very same
    before_.emplace_back(tensor, held);
    tensor.set_data(held.to(dtype));
  };
  for (const auto& parameter : module.parameters()) turn(parameter);
  for (const auto& buffer : module.buffers()) turn(buffer);
}

InDtype::~InDtype() {
  for (const auto& [tensor, held] : before_) tensor.set_data(held);
}

Inputs cast(const Inputs& inputs, at::ScalarType dtype) {
  auto turned = inputs;
  if (turned.x.is_floating_point()) turned.x = turned.x.to(dtype);
  if (turned.memory.defined() && turned.memory.is_floating_point()) turned.memory = turned.memory.to(dtype);
  return turned;
}

at::ScalarType dtype_of(const torch::nn::Module& module, const Inputs& inputs) {
  if (inputs.x.is_floating_point()) return inputs.x.scalar_type();
  for (const auto& parameter : module.parameters()) {
    if (parameter.is_floating_point()) return parameter.scalar_type();
  }
  return at::kFloat;
}

}  // namespace headwright::exporter

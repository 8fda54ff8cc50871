// One forward pass.
#pragma once
#include <ATen/core/Tensor.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bind/plan.h"
#include "model/model.h"

namespace headwright::run {

/// The plan's input as tensors on the model's device and dtype, checked against the model. Throws InputError.
Inputs make_inputs(const bind::Plan& plan);

struct Forward {
  at::Tensor y;
  double seconds = 0;                                         // of the pass alone
  std::vector<std::pair<std::string, KernelChoice>> kernels;  // per attention, by module path
};

/// In eval mode, without gradients.
Forward forward(model::Model& model, const Inputs& inputs);

}  // namespace headwright::run

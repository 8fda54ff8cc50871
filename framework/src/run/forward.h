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

/// The tensor of a file as it is; a path is seen from the config's folder. Throws InputError.
at::Tensor tensor_from_file(const bind::TensorSource& source);

/// Values of a result that are not finite.
struct NonFinite {
  std::int64_t nan = 0, inf = 0;
  std::string first;  // where they began: "the input", or the path of a module, "blocks.3"; empty = all are finite
};

struct Forward {
  at::Tensor y;
  double seconds = 0;                                         // of the pass alone
  std::vector<std::pair<std::string, KernelChoice>> kernels;  // per attention, by module path
  NonFinite nonfinite;
};

/// In eval mode, without gradients. A result that is not finite is traced to its first layer by a second pass.
Forward forward(model::Model& model, const Inputs& inputs);

/// On the log: how many values are NaN or infinite, and where they began. Silent where all are finite.
void warn_of_nonfinite(const std::string& name, const Forward& result);

}  // namespace headwright::run

#include "run/forward.h"

#include <ATen/core/grad_mode.h>

#include <chrono>

#include "model/build.h"

namespace headwright::run {

Forward forward(model::Model& model, const Inputs& inputs) {
  const at::NoGradGuard no_grad;
  model.eval();
  const auto start = std::chrono::steady_clock::now();
  auto y = model.forward(inputs);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  return {std::move(y), seconds.count(), model::kernels_of(model)};
}

}  // namespace headwright::run

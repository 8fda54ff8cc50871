#include "run/forward.h"

#include <ATen/core/grad_mode.h>

#include <chrono>

namespace headwright::run {

std::vector<std::pair<std::string, KernelChoice>> kernels_of(model::Model& model) {
  std::vector<std::pair<std::string, KernelChoice>> kernels;
  for (std::size_t i = 0; i < model.blocks.size(); ++i) {
    if (!model.blocks[i]->attention) continue;
    kernels.emplace_back("blocks." + std::to_string(i) + ".attention", model.blocks[i]->attention->kernel());
  }
  return kernels;
}

Forward forward(model::Model& model, const Inputs& inputs) {
  const at::NoGradGuard no_grad;
  model.eval();
  const auto start = std::chrono::steady_clock::now();
  auto y = model.forward(inputs);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  return {std::move(y), seconds.count(), kernels_of(model)};
}

}  // namespace headwright::run

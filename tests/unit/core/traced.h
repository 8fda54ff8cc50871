// A function as a trace records it, to run it at shapes that the trace has not seen.
#pragma once
#include <ATen/ATen.h>
#include <torch/csrc/jit/api/compilation_unit.h>
#include <torch/csrc/jit/frontend/tracer.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace headwright::testing {

using Function = std::function<at::Tensor(const std::vector<at::Tensor>&)>;

inline Function traced(const Function& function, const std::vector<at::Tensor>& example) {
  const auto run = [&](const torch::jit::Stack& stack) -> torch::jit::Stack {
    std::vector<at::Tensor> inputs;
    for (const auto& value : stack) inputs.push_back(value.toTensor());
    return {function(inputs)};
  };
  const auto state = torch::jit::tracer::trace({example.begin(), example.end()}, run,
                                               [](const torch::autograd::Variable&) { return std::string(); });
  const auto unit = std::make_shared<torch::jit::CompilationUnit>();
  auto* recorded = unit->create_function(c10::QualifiedName("recorded"), state.first->graph);
  return [unit, recorded](const std::vector<at::Tensor>& inputs) {
    torch::jit::Stack stack(inputs.begin(), inputs.end());
    return (*recorded)(std::move(stack)).toTensor();
  };
}

}  // namespace headwright::testing

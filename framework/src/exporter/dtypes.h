// A component in another dtype than the model's: for what an export does once somebody casts it.
#pragma once
#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "headwright/attention.h"

namespace headwright::exporter {

/// What `.float()`, `.double()`, `.half()` and `.bfloat16()` make of a module.
inline constexpr std::array kDtypes{at::kFloat, at::kDouble, at::kHalf, at::kBFloat16};

/// The parameters and buffers of a module, cast in place while this lives. The tensors stay the same objects, so that
/// a scripted module which shares them follows.
class InDtype {
 public:
  InDtype(const torch::nn::Module& module, at::ScalarType dtype);
  ~InDtype();
  InDtype(const InDtype&) = delete;
  InDtype& operator=(const InDtype&) = delete;

 private:
  std::vector<std::pair<at::Tensor, at::Tensor>> before_;  // a tensor, and what it held
};

/// The same inputs with their features in another dtype; token ids, masks and positions stay what they are.
Inputs cast(const Inputs& inputs, at::ScalarType dtype);

/// The dtype that a component computes in: of its x, or of its parameters where that is token ids.
at::ScalarType dtype_of(const torch::nn::Module& module, const Inputs& inputs);

}  // namespace headwright::exporter

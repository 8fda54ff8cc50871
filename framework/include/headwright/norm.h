// The norm kind: x -> y, normalised over the last dimension.
#pragma once
#include <torch/nn/module.h>

#include "headwright/variant.h"

namespace headwright {

class HEADWRIGHT_API Norm : public torch::nn::Module {
 public:
  ~Norm() override;

  /// x, result: (batch, seq, d_model)
  virtual at::Tensor forward(const at::Tensor& x) = 0;
};

}  // namespace headwright

// The head kind: the features of the last layer -> the model's output.
#pragma once
#include <torch/nn/module.h>

#include "headwright/attention.h"
#include "headwright/norm.h"
#include "headwright/variant.h"

namespace headwright {

class HEADWRIGHT_API Head : public torch::nn::Module {
 public:
  ~Head() override;

  /// inputs.x: (batch, seq, d_model). Returns (batch, seq, d_out), or (batch, d_out) where the variant claims `pools`.
  virtual at::Tensor forward(const Inputs& inputs) = 0;

  /// Claim `tied`: takes the matrix of the model's embedding for its own; called once, after construction.
  virtual void tie(const at::Tensor& matrix);
};

}  // namespace headwright

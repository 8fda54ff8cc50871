// The feed-forward kind: x -> y, each token on its own.
#pragma once
#include <torch/nn/module.h>

#include <string>

#include "headwright/variant.h"

namespace headwright {

class HEADWRIGHT_API FeedForward : public torch::nn::Module {
 public:
  ~FeedForward() override;

  /// x, result: (batch, seq, d_model)
  virtual at::Tensor forward(const at::Tensor& x) = 0;

  /// TorchScript text of `forward` for a variant whose forward cannot be traced; empty = trace it.
  virtual std::string torchscript() const;
};

}  // namespace headwright

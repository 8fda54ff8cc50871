// The norm kind: x -> y, normalised over the last dimension.
#pragma once
#include <torch/nn/module.h>

#include <memory>

#include "headwright/variant.h"

namespace headwright {

class HEADWRIGHT_API Norm : public torch::nn::Module {
 public:
  ~Norm() override;

  /// x, result: (batch, seq, d_model)
  virtual at::Tensor forward(const at::Tensor& x) = 0;
};

/// Builds the norm that a parameter names; null for an absent component.
HEADWRIGHT_API std::shared_ptr<Norm> make_norm(const Component& component, const Dims& dims);

}  // namespace headwright

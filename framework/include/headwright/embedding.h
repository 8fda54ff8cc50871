// The embedding kind, a model's stem: token ids, features or images -> the features that the first layer reads.
#pragma once
#include <torch/nn/module.h>

#include "headwright/attention.h"
#include "headwright/norm.h"
#include "headwright/variant.h"

namespace headwright {

class HEADWRIGHT_API Embedding : public torch::nn::Module {
 public:
  ~Embedding() override;

  /// inputs.x: what the variant claims to take: token ids (batch, seq) int64, features (batch, seq, d_in), images
  /// (batch, channels, height, width), or nothing, where inputs.memory says the batch. Returns (batch, seq, d_model).
  virtual at::Tensor forward(const Inputs& inputs) = 0;

  /// Claim `matrix`: (vocab_size, d_model), which a head or an encoder's embedding may share.
  virtual at::Tensor matrix() const;

  /// Claim `tied`: takes the matrix of the model's own embedding for its own; called once, after construction.
  virtual void tie(const at::Tensor& matrix);
};

}  // namespace headwright

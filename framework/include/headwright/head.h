// The head kind: the features of the last layer -> the model's output.
#pragma once
#include <torch/nn/module.h>

#include <cstdint>
#include <optional>

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

/// For a head's parameter `d_out`, of which absent means one output for each token id: reports where there is no
/// vocab_size to take it from, and where a tied head asks for another width than the embedding's.
HEADWRIGHT_API void check_outputs(const Dims& dims, bool tied, std::optional<std::int64_t> d_out, Issues& issues);

}  // namespace headwright

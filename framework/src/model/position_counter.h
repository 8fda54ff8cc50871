// Where each token stands, where the input does not say: counted along the visible tokens, from 0 in each document.
#pragma once
#include <torch/nn/module.h>

#include "bind/plan.h"
#include "headwright/attention.h"

namespace headwright::model {

class PositionCounter final : public torch::nn::Module {
 public:
  explicit PositionCounter(const bind::PositionsPlan& plan) : plan_(plan) {}

  /// inputs.x: (batch, seq), or (batch, seq, width). inputs.key_mask and document_ids, where they are given and asked
  /// for, are of all tokens so far, of which those of x are the last. Returns (batch, seq) int64; a hidden token stands
  /// where the last visible one before it does, or at 0. Asks no tensor for its size while tracing.
  at::Tensor forward(const Inputs& inputs) const;

 private:
  const bind::PositionsPlan plan_;
};

}  // namespace headwright::model

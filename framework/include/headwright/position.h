// The position kind: tells tokens apart by where they stand. A variant overrides the hooks that it claims.
#pragma once
#include <torch/nn/module.h>

#include <memory>
#include <utility>

#include "headwright/attend.h"
#include "headwright/variant.h"

namespace headwright {

class HEADWRIGHT_API Position : public torch::nn::Module {
 public:
  ~Position() override;

  /// Claim `embed`: x (batch, seq, d_model) plus an embedding of positions (seq) or (batch, seq), int64.
  virtual at::Tensor embed(const at::Tensor& x, const at::Tensor& positions);

  /// Claim `rotate`: q (batch, n_heads, q_len, d_head) and k (batch, n_kv_heads, k_len, d_head), rotated by position.
  virtual std::pair<at::Tensor, at::Tensor> rotate(const at::Tensor& q, const at::Tensor& k,
                                                   const at::Tensor& q_positions, const at::Tensor& k_positions);

  /// Claim `bias`: what it does to the scores.
  virtual ScoreModifier bias() const;
};

/// Builds the position that a parameter names; null for an absent component.
HEADWRIGHT_API std::shared_ptr<Position> make_position(const Component& component, const Dims& dims);

/// For an embedding's parameter `position`: reports a position that adds nothing to embeddings, and what the position
/// itself has to say of these dims. An absent component is fine.
HEADWRIGHT_API void check_embedded_position(const Component& component, const Dims& dims, Issues& issues);

}  // namespace headwright

// One kind of score modifier: what ScoreModifier points at. A new kind is a file and a row in mask_kinds.cpp.
#pragma once
#include <ATen/core/Tensor.h>

#include <string>

#include "headwright/attend.h"
#include "headwright/mask_kinds.h"
#include "headwright/modifier.h"

namespace headwright {

class ModifierNode {
 public:
  virtual ~ModifierNode();

  /// scores, result: (batch, n_heads, q_len, k_len)
  virtual at::Tensor apply(const at::Tensor& scores, const ScorePositions& place) const = 0;
  /// How a config writes it.
  virtual ModifierForm form() const = 0;

  /// Tensors that apply() reads and that may need a gradient.
  virtual const std::vector<at::Tensor>& learned() const;
};

}  // namespace headwright

namespace headwright::core {

ModifierKind softcap_kind();

}  // namespace headwright::core

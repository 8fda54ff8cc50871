// Changes to attention scores between the scaled product and the mask.
#pragma once
#include <memory>
#include <string>

#include "headwright/errors.h"

namespace at {
class Tensor;
}

namespace headwright {

class ModifierNode;  // one kind of modifier; lives in framework/src/core

/// An immutable, cheaply copied score modifier. A list of them is applied in its order, before the mask.
class HEADWRIGHT_API ScoreModifier {
 public:
  explicit ScoreModifier(std::shared_ptr<const ModifierNode> node);

  /// s <- cap tanh(s / cap); cap > 0. Source: Gemma 2, arXiv:2408.00118, section 2.
  static ScoreModifier softcap(double cap);

  /// scores, result: (batch, n_heads, q_len, k_len)
  at::Tensor apply(const at::Tensor& scores) const;

  /// As one would write it: "softcap(50)".
  std::string to_string() const;

 private:
  std::shared_ptr<const ModifierNode> node_;
};

}  // namespace headwright

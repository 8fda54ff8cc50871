// Changes to attention scores between the scaled product and the mask.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "headwright/errors.h"

namespace at {
class Tensor;
}

namespace headwright {

class ModifierNode;     // one kind of modifier; lives in framework/src/core
struct ModifierForm;    // how a config writes a modifier; in mask_kinds.h
struct ScorePositions;  // where scores stand; in attend.h

/// An immutable, cheaply copied score modifier. A list of them is applied in its order, before the mask.
/// attend.h makes those that hold tensors: alibi(), relative_bias(), modifier().
class HEADWRIGHT_API ScoreModifier {
 public:
  explicit ScoreModifier(std::shared_ptr<const ModifierNode> node);

  /// s <- cap tanh(s / cap); cap > 0. Source: Gemma 2, arXiv:2408.00118, section 2.
  static ScoreModifier softcap(double cap);

  /// scores, result: (batch, n_heads, q_len, k_len)
  at::Tensor apply(const at::Tensor& scores, const ScorePositions& place) const;

  /// Tensors that apply() reads and that may need a gradient.
  const std::vector<at::Tensor>& learned() const;

  /// As one would write it: "softcap(50)".
  std::string to_string() const;

  /// As a config writes it: the name of its kind, and what the kind is given.
  ModifierForm form() const;

 private:
  std::shared_ptr<const ModifierNode> node_;
};

}  // namespace headwright

// Which keys a query may see. One polarity everywhere: true = visible.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "headwright/errors.h"

namespace at {
class Tensor;
}

namespace headwright {

class MaskNode;  // one kind of mask; lives in framework/src/core

/// What a mask may ask when it is evaluated.
struct MaskInputs;

/// An immutable, cheaply copied description of a mask. Positions are counted from the end of the keys, so the last
/// query and the last key are the same token whatever the two lengths are.
class HEADWRIGHT_API Mask {
 public:
  Mask();  ///< everything is visible
  explicit Mask(std::shared_ptr<const MaskNode> node);

  static Mask causal();                      ///< a query sees itself and what came before
  static Mask window(std::int64_t size);     ///< the last `size` keys, itself included; >= 1
  static Mask key_padding();                 ///< the keys that the run-time key mask marks as visible
  static Mask all(std::vector<Mask> parts);  ///< visible in every part
  static Mask any(std::vector<Mask> parts);  ///< visible in at least one part
  static Mask negation(Mask part);           ///< visible where `part` is not

  bool sees_everything() const;  ///< no mask at all
  bool is_causal() const;        ///< exactly causal(): a kernel may use its own fast path
  bool hides_future() const;     ///< proved from the structure: no key after the query is ever visible

  /// Bool, broadcastable to (batch, n_heads, q_len, k_len). Undefined if sees_everything().
  at::Tensor visible(const MaskInputs& inputs) const;

  /// As one would write it: "all(causal, window(128))".
  std::string to_string() const;

 private:
  std::shared_ptr<const MaskNode> node_;  // null = sees everything
};

}  // namespace headwright

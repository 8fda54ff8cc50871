// One kind of mask: what Mask points at. A new kind is a file beside this one and a row in mask_kinds.cpp.
#pragma once
#include <ATen/core/Tensor.h>

#include <string>

#include "headwright/mask.h"
#include "headwright/mask_kinds.h"

namespace headwright {

/// What a mask may ask when it is evaluated. Positions are counted from the end of the keys: the last token is 0, the
/// one before it -1, for queries and keys alike.
struct MaskInputs {
  at::Tensor q_positions;  // (q_len, 1) int64
  at::Tensor k_positions;  // (1, k_len) int64
  at::Tensor key_mask;     // (batch, 1, 1, k_len) bool, true = visible; undefined = none
};

class MaskNode {
 public:
  virtual ~MaskNode();

  /// Bool, broadcastable to (batch, n_heads, q_len, k_len); undefined = everything is visible.
  virtual at::Tensor visible(const MaskInputs& inputs) const = 0;

  /// As one would write it.
  virtual std::string to_string() const = 0;

  /// Proved from the structure, for any input: no key after the query is visible; every key after it is.
  virtual bool hides_future() const { return false; }
  virtual bool shows_future() const { return false; }

  /// Exactly the causal mask.
  virtual bool is_causal() const { return false; }
};

}  // namespace headwright

namespace headwright::core {

/// The inputs for masks over q (batch, n_heads, q_len, d_head) and k (batch, n_kv_heads, k_len, d_head).
MaskInputs mask_inputs(const at::Tensor& q, const at::Tensor& k, const at::Tensor& key_mask);

MaskKind causal_kind();
MaskKind window_kind();
MaskKind key_padding_kind();

}  // namespace headwright::core

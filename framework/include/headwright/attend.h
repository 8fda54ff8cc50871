// The attention core: softmax attention of q over k and v, one for all variants of the family.
#pragma once
#include <ATen/core/Tensor.h>

#include <optional>
#include <string>
#include <vector>

#include "headwright/mask.h"
#include "headwright/modifier.h"

namespace headwright {

/// How scores are made and turned into weights.
struct Scoring {
  std::optional<double> scale;  // absent = 1 / sqrt(d_head)
  Mask mask;
  at::Tensor key_mask;  // (batch, keys) bool, true = visible; always intersected with `mask`
  std::vector<ScoreModifier> modifiers;
  double dropout = 0;           // probability of dropping a weight; pass 0 outside training
  bool same_sequence = false;   // q and k are the same tokens, so their lengths are equal
  bool needs_lse = false;       // fill Attended::lse, with its gradient
  std::string kernel = "auto";  // "auto", or the name of a kernel: one that cannot is an error, never a substitute
};

struct Attended {
  at::Tensor y;    // (batch, n_heads, q_len, d_head)
  at::Tensor lse;  // (batch, n_heads, q_len): log of the sum of exponentials; undefined unless asked for
};

/// Requested against effective kernel, and why.
struct KernelChoice {
  std::string requested, effective, reason;
};

/// Softmax attention of q over k and v.
///
/// q: (batch, n_heads, q_len, d_head); k, v: (batch, n_kv_heads, k_len, d_head); same dtype and device.
/// Query head h reads key head h // (n_heads / n_kv_heads).
/// A query that sees no key gives zeros and lse = -inf, with finite gradients.
/// Throws ShapeError where shapes do not fit, Error where the forced kernel cannot express the request.
HEADWRIGHT_API Attended attend(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const Scoring& scoring);

/// The kernel that attend() takes for this request. Decided by what is asked, never by sizes.
HEADWRIGHT_API KernelChoice choose_kernel(const Scoring& scoring);

/// Names of the kernels, in the order in which "auto" tries them.
HEADWRIGHT_API std::vector<std::string> kernel_names();

/// The weights that attend() applies, recomputed from q and k: (batch, n_heads, q_len, k_len). Without dropout.
HEADWRIGHT_API at::Tensor attention_weights(const at::Tensor& q, const at::Tensor& k, const Scoring& scoring);

/// Softmax over the last dimension among what is visible; rows that see nothing are zero, with finite gradients.
/// visible: bool, broadcastable to scores; undefined = everything.
HEADWRIGHT_API at::Tensor masked_softmax(const at::Tensor& scores, const at::Tensor& visible);

}  // namespace headwright

// Masks as other libraries write them, turned into this one's: true = visible, aligned to the end of the keys.
#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>

#include "headwright/mask.h"

namespace headwright {

/// The pairs that `visible` marks: bool, (q_len, k_len) or (batch, n_heads, q_len, k_len); sizes of 1 are stretched.
/// It fits requests of this k_len with up to q_len queries: fewer are its last rows. attend() throws ShapeError for
/// others. Throws ShapeError for another type or number of dimensions.
HEADWRIGHT_API Mask dense_mask(const at::Tensor& visible);

/// As scaled_dot_product_attention takes it. attn_mask: bool, true = visible, or floating point of 0 and -inf;
/// undefined = none. is_causal is aligned to the first key there, and is kept so. Throws Error for a mask of other
/// numbers, which changes scores: that is a modifier.
HEADWRIGHT_API Mask mask_from_sdpa(const at::Tensor& attn_mask, bool is_causal, std::int64_t q_len, std::int64_t k_len);

/// As nn.MultiheadAttention takes it: bool, true = hidden, or floating point of 0 and -inf.
/// attn_mask: (q_len, k_len) or (batch * n_heads, q_len, k_len).
HEADWRIGHT_API Mask mask_from_multihead_attention(const at::Tensor& attn_mask, std::int64_t n_heads);

/// Its key_padding_mask, (batch, k_len), true = hidden or 0 and -inf, as a key mask: true = visible.
HEADWRIGHT_API at::Tensor key_mask_from_multihead_attention(const at::Tensor& key_padding_mask);

/// flash-attention's window_size: `left` keys before a query and `right` after it, itself always; -1 = no bound.
HEADWRIGHT_API Mask mask_from_flash(std::int64_t left, std::int64_t right, bool causal = false);

}  // namespace headwright

// Small tensor helpers whose traced form stays right at other batch sizes and lengths.
#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "headwright/errors.h"

namespace headwright {

/// (batch, seq, n_heads * d_head) -> (batch, n_heads, seq, d_head)
HEADWRIGHT_API at::Tensor split_heads(const at::Tensor& x, std::int64_t n_heads);

/// (batch, n_heads, seq, d_head) -> (batch, seq, n_heads * d_head)
HEADWRIGHT_API at::Tensor merge_heads(const at::Tensor& x);

/// 0, 1, 2, ... along dimension `dim` of x: (length) int64 on x's device. Asks no tensor for its size while tracing.
HEADWRIGHT_API at::Tensor positions_along(const at::Tensor& x, std::int64_t dim);

/// The first rows and columns of a stored (context_length, context_length) mask: (seq, seq) for x (batch, seq, ...).
/// Throws ShapeError if x is longer than the mask.
HEADWRIGHT_API at::Tensor slice_mask(const at::Tensor& mask, const at::Tensor& x);

/// float32 for half types, whose sums and softmax lose too much; any other type as it is.
HEADWRIGHT_API at::ScalarType wide(at::ScalarType type);
HEADWRIGHT_API at::Tensor wide(const at::Tensor& x);

/// "(2, 4, 17, 16)"
HEADWRIGHT_API std::string shape_text(const at::Tensor& x);

/// Throws ShapeError "[op] name: got (...), expected WHAT".
[[noreturn]] HEADWRIGHT_API void refuse_shape(std::string_view op, std::string_view name, const at::Tensor& got,
                                              std::string_view expected);

}  // namespace headwright

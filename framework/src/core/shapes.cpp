// Reshapes that trace without a size, and messages about shapes.
#include "headwright/shapes.h"

#include <ATen/ATen.h>
#include <torch/csrc/jit/frontend/tracer.h>

namespace headwright {

at::Tensor split_heads(const at::Tensor& x, std::int64_t n_heads) {
  if (x.dim() != 3 || n_heads < 1 || x.size(2) % n_heads != 0) {
    refuse_shape("split_heads", "x", x,
                 "(batch, seq, width) with a width that n_heads = " + std::to_string(n_heads) + " divides");
  }
  // Both factors are properties of the module, so writing them down bakes no run-time size; -1 would fail when empty.
  return x.unflatten(-1, {n_heads, x.size(2) / n_heads}).transpose(1, 2);  // (batch, n_heads, seq, d_head)
}

at::Tensor merge_heads(const at::Tensor& x) {
  if (x.dim() != 4) refuse_shape("merge_heads", "x", x, "(batch, n_heads, seq, d_head)");
  return x.transpose(1, 2).flatten(-2);  // (batch, seq, n_heads * d_head)
}

at::Tensor positions_along(const at::Tensor& x, std::int64_t dim) {
  if (dim < -x.dim() || dim >= x.dim()) {
    refuse_shape("positions_along", "x", x, "a tensor with a dimension " + std::to_string(dim));
  }
  if (!torch::jit::tracer::isTracing()) {
    return at::arange(x.size(dim), at::TensorOptions(at::kLong).device(x.device()));
  }
  // One element of every other dimension, summed away: the length stays the input's, and an empty batch stays legal.
  auto line = x.detach();
  const auto kept = dim < 0 ? dim + x.dim() : dim;
  for (std::int64_t other = x.dim() - 1; other >= 0; --other) {
    if (other != kept) line = line.slice(other, 0, 1);
  }
  for (std::int64_t other = x.dim() - 1; other >= 0; --other) {
    if (other != kept) line = line.sum(other);
  }
  return at::ones_like(line, at::kLong).cumsum(0) - 1;  // (length)
}

at::Tensor slice_mask(const at::Tensor& mask, const at::Tensor& x) {
  if (mask.dim() != 2 || mask.size(0) != mask.size(1)) refuse_shape("slice_mask", "mask", mask, "a square matrix");
  if (x.dim() < 2) refuse_shape("slice_mask", "x", x, "(batch, seq, ...)");
  const auto seq_len = x.size(1);
  if (seq_len > mask.size(0)) {
    refuse_shape("slice_mask", "x", x, "seq of at most " + std::to_string(mask.size(0)) + ", the context length");
  }
  if (!torch::jit::tracer::isTracing()) return mask.slice(0, 0, seq_len).slice(1, 0, seq_len);
  const auto positions = positions_along(x, 1);
  return mask.index_select(0, positions).index_select(1, positions);  // (seq, seq)
}

at::ScalarType wide(at::ScalarType type) { return at::isReducedFloatingType(type) ? at::kFloat : type; }

at::Tensor wide(const at::Tensor& x) { return at::isReducedFloatingType(x.scalar_type()) ? x.to(at::kFloat) : x; }

std::string shape_text(const at::Tensor& x) {
  if (!x.defined()) return "nothing";
  std::string text = "(";
  for (const auto size : x.sizes()) text += (text.size() > 1 ? ", " : "") + std::to_string(size);
  return text + (x.dim() == 1 ? ",)" : ")");
}

void refuse_shape(std::string_view op, std::string_view name, const at::Tensor& got, std::string_view expected) {
  throw ShapeError("[" + std::string(op) + "] " + std::string(name) + ": got " + shape_text(got) + ", expected " +
                   std::string(expected));
}

}  // namespace headwright

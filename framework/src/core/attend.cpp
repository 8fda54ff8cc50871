#include "headwright/attend.h"

#include <ATen/ATen.h>

#include <cmath>

#include "core/kernel.h"
#include "core/mask_node.h"
#include "headwright/shapes.h"

namespace headwright {
namespace {

void expect_like_k(std::string_view name, const at::Tensor& x, const at::Tensor& k) {
  if (x.scalar_type() == k.scalar_type() && x.device() == k.device()) return;
  const auto text = [](const at::Tensor& t) {
    return std::string(toString(t.scalar_type())) + " on " + t.device().str();
  };
  throw ShapeError("[attend] " + std::string(name) + ": got " + text(x) + ", expected " + text(k) + " as in k");
}

void check_query(const at::Tensor& q, const at::Tensor& k) {
  if (q.dim() != 4) refuse_shape("attend", "q", q, "(batch, n_heads, q_len, d_head)");
  if (k.dim() != 4) refuse_shape("attend", "k", k, "(batch, n_kv_heads, k_len, d_head)");
  const auto like_k = " as in k " + shape_text(k);
  if (q.size(3) != k.size(3)) refuse_shape("attend", "q", q, "d_head = " + std::to_string(k.size(3)) + like_k);
  if (q.size(0) != k.size(0)) refuse_shape("attend", "q", q, "batch = " + std::to_string(k.size(0)) + like_k);
  if (k.size(1) == 0 || q.size(1) % k.size(1) != 0) {
    refuse_shape("attend", "q", q, "a multiple of the " + std::to_string(k.size(1)) + " heads of k " + shape_text(k));
  }
  expect_like_k("q", q, k);
}

void check_values(const at::Tensor& v, const at::Tensor& k) {
  if (v.dim() != 4 || v.size(0) != k.size(0) || v.size(1) != k.size(1) || v.size(2) != k.size(2)) {
    refuse_shape("attend", "v", v, "(batch, n_kv_heads, k_len, d_head) as k " + shape_text(k));
  }
  expect_like_k("v", v, k);
}

void check_scoring(const at::Tensor& q, const at::Tensor& k, const Scoring& scoring) {
  if (scoring.same_sequence && q.size(2) != k.size(2)) {
    refuse_shape("attend", "q", q, "the length of k " + shape_text(k) + ", since both are one sequence");
  }
  const auto& mask = scoring.key_mask;
  if (!mask.defined()) return;
  if (mask.dim() != 2 || mask.size(0) != k.size(0) || mask.size(1) != k.size(2)) {
    refuse_shape("attend", "key_mask", mask, "(batch, k_len) as in k " + shape_text(k));
  }
  if (mask.scalar_type() != at::kBool) {
    throw ShapeError("[attend] key_mask: got " + std::string(toString(mask.scalar_type())) +
                     ", expected bool, true = visible");
  }
}

/// The last position is 0, the one before it -1.
at::Tensor positions_from_end(const at::Tensor& x) { return positions_along(x, 2).flip(0).neg(); }

}  // namespace

Attended attend(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const Scoring& scoring) {
  check_query(q, k);
  check_values(v, k);
  check_scoring(q, k, scoring);
  return core::kernel_for(scoring).run({q, k, v, scoring});
}

at::Tensor attention_weights(const at::Tensor& q, const at::Tensor& k, const Scoring& scoring) {
  check_query(q, k);
  check_scoring(q, k, scoring);
  const auto scores = core::modified_scores(core::wide(q), core::wide(k), scoring);
  return masked_softmax(scores, core::visible_keys(q, k, scoring)).to(q.scalar_type());
}

namespace core {

MaskInputs mask_inputs(const at::Tensor& q, const at::Tensor& k, const at::Tensor& key_mask) {
  return {.q_positions = positions_from_end(q).unsqueeze(-1),                               // (q_len, 1)
          .k_positions = positions_from_end(k).unsqueeze(0),                                // (1, k_len)
          .key_mask = key_mask.defined() ? key_mask.unsqueeze(1).unsqueeze(1) : key_mask};  // (batch, 1, 1, k_len)
}

at::Tensor visible_keys(const at::Tensor& q, const at::Tensor& k, const Scoring& scoring) {
  auto mask = scoring.mask;
  if (scoring.key_mask.defined()) mask = Mask::all({std::move(mask), Mask::key_padding()});
  if (mask.sees_everything()) return {};
  auto visible = mask.visible(mask_inputs(q, k, scoring.key_mask));
  // scaled_dot_product_attention leaves its memory-saving path for masks of 3 dimensions.
  while (visible.defined() && visible.dim() < 4) visible = visible.unsqueeze(0);
  return visible;
}

double scale_of(const at::Tensor& q, const Scoring& scoring) {
  return scoring.scale.value_or(1 / std::sqrt(static_cast<double>(q.size(3))));
}

}  // namespace core
}  // namespace headwright

// Makes the masks of other libraries, with their polarity, into ours.
#include "headwright/mask_import.h"

#include <ATen/ATen.h>

#include "core/masks/mask_node.h"
#include "headwright/shapes.h"

namespace headwright {
namespace {

class Dense final : public MaskNode {
 public:
  explicit Dense(at::Tensor visible) : visible_(std::move(visible)) {}

  at::Tensor visible(const MaskInputs& inputs) const override {
    const auto q_len = visible_.size(-2), k_len = visible_.size(-1), keys = inputs.all_keys.size(0);
    if (k_len != 1 && k_len != keys) {
      refuse_shape("mask", "visible", visible_, "k_len = " + std::to_string(keys) + " as in k");
    }
    auto part = visible_.to(inputs.q_positions.device());
    if (q_len != 1) {
      const auto queries = (inputs.q_positions.flatten() - (keys - q_len)).contiguous();  // indices of rows
      if (queries.numel() > 0 &&
          (queries.min().item<std::int64_t>() < 0 || queries.max().item<std::int64_t>() >= q_len)) {
        refuse_shape("mask", "visible", visible_, "as many rows as q has");
      }
      part = part.index_select(-2, queries);
    }
    return k_len == 1 ? part : part.index_select(-1, inputs.k_positions.flatten());
  }
  MaskForm form() const override { return {.kind = "dense" + shape_text(visible_)}; }

 private:
  const at::Tensor visible_;
};

/// `mask` as bool, true = visible. true_is_visible: of a bool mask.
at::Tensor as_visible(const char* from, const at::Tensor& mask, bool true_is_visible) {
  if (mask.scalar_type() == at::kBool) return true_is_visible ? mask : mask.logical_not();
  const auto open = mask.eq(0);
  if (mask.is_floating_point() && open.logical_or(mask.eq(-INFINITY)).all().item<bool>()) return open;
  throw Error(std::string("[") + from +
              "] mask: got numbers other than 0 and -inf, which change scores; expected a mask, " +
              "or give them as a score modifier");
}

}  // namespace

Mask dense_mask(const at::Tensor& visible) {
  if ((visible.dim() != 2 && visible.dim() != 4) || visible.scalar_type() != at::kBool) {
    refuse_shape("dense_mask", "visible", visible, "bool, (q_len, k_len) or (batch, n_heads, q_len, k_len)");
  }
  return Mask(std::make_shared<Dense>(visible));
}

Mask mask_from_sdpa(const at::Tensor& attn_mask, bool is_causal, std::int64_t q_len, std::int64_t k_len) {
  Mask mask;
  if (attn_mask.defined()) mask = dense_mask(as_visible("mask_from_sdpa", attn_mask, true));
  if (!is_causal) return mask;
  const auto causal = q_len == k_len ? Mask::causal() : dense_mask(at::ones({q_len, k_len}, at::kBool).tril());
  return Mask::all({std::move(mask), causal});
}

Mask mask_from_multihead_attention(const at::Tensor& attn_mask, std::int64_t n_heads) {
  if (!attn_mask.defined()) return {};
  auto visible = as_visible("mask_from_multihead_attention", attn_mask, false);
  if (visible.dim() == 3) {
    if (n_heads < 1 || visible.size(0) % n_heads != 0) {
      refuse_shape("mask_from_multihead_attention", "attn_mask", attn_mask,
                   "(batch * n_heads, q_len, k_len) with n_heads = " + std::to_string(n_heads));
    }
    visible = visible.unflatten(0, {-1, n_heads});
  }
  return dense_mask(visible);
}

at::Tensor key_mask_from_multihead_attention(const at::Tensor& key_padding_mask) {
  if (!key_padding_mask.defined()) return {};
  if (key_padding_mask.dim() != 2) {
    refuse_shape("key_mask_from_multihead_attention", "key_padding_mask", key_padding_mask, "(batch, k_len)");
  }
  return as_visible("key_mask_from_multihead_attention", key_padding_mask, false);
}

Mask mask_from_flash(std::int64_t left, std::int64_t right, bool causal) {
  const auto bound = [](std::int64_t keys) { return keys < 0 ? std::nullopt : std::optional(keys); };
  return Mask::band(bound(left), causal ? std::optional<std::int64_t>(0) : bound(right));
}

}  // namespace headwright

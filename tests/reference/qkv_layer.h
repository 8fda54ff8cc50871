// A layer on queries, keys and values as loops: projections, heads, grouped keys; what mixes one head is a function.
#pragma once
#include <string>

#include "reference/layer_loops.h"

namespace loops {

/// One head: q (seq), k, v (keys) -> (seq, d_value).
using Head = std::function<Rows(const torch::nn::Module& module, std::size_t head, const Rows& q, const Rows& k,
                                const Rows& v, const Keys& keys)>;

/// Query head h reads key head h / (n_heads / n_kv_heads).
inline Layer qkv_layer(std::size_t n_heads, std::size_t n_kv_heads, std::size_t d_head, const Head& head) {
  return [=](const torch::nn::Module& module, const Rows& x, const Keys& keys) {
    const auto q = linear(module, "q_proj", x);
    const auto k = linear(module, "k_proj", keys.source), v = linear(module, "v_proj", keys.source);
    Rows heads;
    for (std::size_t h = 0; h < n_heads; ++h) {
      const auto kv = h / (n_heads / n_kv_heads);
      heads = beside(heads, head(module, h, columns(q, h * d_head, d_head), columns(k, kv * d_head, d_head),
                                 columns(v, kv * d_head, d_head), keys));
    }
    return linear(module, "out_proj", heads);
  };
}

inline Score scaled(const Rows& q, const Rows& k, double scale) {
  return [&q, &k, scale](std::size_t i, std::size_t j) { return scale * dot(q[i], k[j]); };
}

inline headwright::Value component(const std::string& variant, headwright::ParamMap values = {}) {
  return {headwright::Component{.variant = &headwright::test::variant(variant), .values = std::move(values)}};
}

inline headwright::Value text(const char* value) { return {std::string(value)}; }

}  // namespace loops

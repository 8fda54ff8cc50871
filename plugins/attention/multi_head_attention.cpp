// Several heads from one projection each for queries, keys and values, split, attended and merged again.
//   y = W_o [softmax(mask(q_h k_h^T / sqrt(d_head))) v_h, h = 1 .. n_heads],   d_head = d_out / n_heads
// Source: Vaswani et al. 2017, arXiv:1706.03762, section 3.2.2.   Cost: O(seq d_model d_out + seq^2 d_out).
#include "headwright/plugin.h"

namespace {
using namespace headwright;

class MultiHeadAttention final : public Attention {
 public:
  static constexpr auto kSummary = "one projection split into heads, merged and projected again";
  static constexpr auto kSource = "arXiv:1706.03762, section 3.2.2";

  struct Params {
    std::optional<std::int64_t> d_out;
    bool causal = true, qkv_bias = false, out_proj = true;
    std::optional<bool> out_bias;
    double dropout = 0;
    static constexpr auto fields() {
      return std::tuple{field("d_out", &Params::d_out, "width of all heads together; absent = d_model", at_least(1)),
                        field("causal", &Params::causal, "if a token sees only itself and what came before"),
                        field("qkv_bias", &Params::qkv_bias, "if queries, keys and values have a bias"),
                        field("out_proj", &Params::out_proj, "if a linear layer mixes the merged heads"),
                        field("out_bias", &Params::out_bias, "add a bias to out_proj; absent = where there is one"),
                        field("dropout", &Params::dropout, "share of weights dropped in training", probability())};
    }
    bool adds_out_bias() const { return out_bias.value_or(out_proj); }
    std::int64_t width(const Dims& dims) const { return d_out.value_or(dims.d_model); }
  };

  static Claims claims(const Dims& dims, const Params& params) {
    return {.causal = params.causal,
            .key_mask = true,
            .d_out = params.width(dims),
            .cost = "O(seq^2 d_out)",
            .reads = {.n_heads = true}};
  }
  static void check(const Dims& dims, const Params& params, Issues& issues) {
    if (params.causal && dims.context_length == 0) issues.add("context_length", "missing; the mask has this size");
    if (!params.out_proj && params.adds_out_bias()) {
      issues.add("out_bias", "got true, which has no effect with out_proj: false");
    }
    if (params.width(dims) % dims.n_heads == 0) return;
    const auto width = std::to_string(params.width(dims));
    issues.add("n_heads", "got " + std::to_string(dims.n_heads) + ", expected a divisor of d_out = " + width);
  }

  static ParamMap effective(const Dims&, const Params& params) { return {{"out_bias", {params.adds_out_bias()}}}; }

  MultiHeadAttention(const Dims& dims, const Params& p) : n_heads_(dims.n_heads), d_head_(p.width(dims) / n_heads_) {
    const auto linear = [&](const char* name, std::int64_t in, bool bias) {
      return register_module(name, torch::nn::Linear(torch::nn::LinearOptions(in, p.width(dims)).bias(bias)));
    };
    W_query_ = linear("W_query", dims.d_model, p.qkv_bias);
    W_key_ = linear("W_key", dims.d_model, p.qkv_bias);
    W_value_ = linear("W_value", dims.d_model, p.qkv_bias);
    if (p.out_proj) out_proj_ = linear("out_proj", p.width(dims), p.adds_out_bias());
    dropout_ = register_module("dropout", torch::nn::Dropout(p.dropout));
    if (p.causal) mask_ = register_buffer("mask", at::ones({dims.context_length, dims.context_length}).triu(1));
  }

  at::Tensor forward(const Inputs& in) override {
    const auto q = split_heads(W_query_(in.x), n_heads_);  // (batch, n_heads, seq, d_head)
    const auto k = split_heads(W_key_(in.x), n_heads_), v = split_heads(W_value_(in.x), n_heads_);
    const auto scores = wide(q).matmul(wide(k).transpose(-2, -1));  // (batch, n_heads, seq, seq)
    const auto scaled_scores = scores / std::sqrt(static_cast<double>(d_head_));
    auto visible = mask_.defined() ? slice_mask(mask_, in.x) == 0 : at::ones_like(scores, at::kBool);
    if (in.key_mask.defined()) visible = visible.logical_and(in.key_mask.unsqueeze(1).unsqueeze(1));
    const auto weights = masked_softmax(scaled_scores, visible);
    const auto concatenated =
        merge_heads(dropout_(weights).matmul(wide(v)).to(v.scalar_type()));  // (batch, seq, d_out)
    const auto context = out_proj_ ? out_proj_(concatenated) : concatenated;
    note(in, "queries", "what each token asks for, head by head", [&] { return q; });
    note(in, "scores", "dot product of each query with each key, head by head", [&] { return scores; });
    note(in, "scaled_scores", "scores / sqrt(d_head)", [&] { return scaled_scores; });
    note(in, "weights", "attention weights of each head: each row as shares of 1", [&] { return weights; });
    note(in, "concatenated", "weighted sums of the values, the heads side by side", [&] { return concatenated; });
    note(in, "context", "the heads mixed by out_proj", [&] { return context; });
    return context;
  }

 private:
  const std::int64_t n_heads_, d_head_;
  torch::nn::Linear W_query_{nullptr}, W_key_{nullptr}, W_value_{nullptr}, out_proj_{nullptr};
  torch::nn::Dropout dropout_{nullptr};
  at::Tensor mask_;  // (context_length, context_length): 1 = hidden, as in the tutorial's checkpoints
};

}  // namespace

HEADWRIGHT_PLUGIN("multi_head_attention", MultiHeadAttention);

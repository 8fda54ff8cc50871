// Several heads from one projection each for queries, keys and values, split, attended and merged again.
//
//   y = W_o [softmax(mask(q_h k_h^T / sqrt(d_head))) v_h, h = 1 .. n_heads],   d_head = d_out / n_heads
//
// Source: Vaswani et al. 2017, arXiv:1706.03762, section 3.2.2.
// Cost:   O(seq d_model d_out + seq^2 d_out).
#include "headwright/plugin.h"

namespace {
using namespace headwright;

class MultiHeadAttention final : public Attention {
 public:
  static constexpr auto kSummary = "one projection split into heads, merged and projected again";
  static constexpr auto kSource = "arXiv:1706.03762, section 3.2.2";

  struct Params {
    std::optional<std::int64_t> d_out;
    bool causal = true, qkv_bias = false, out_proj = true, out_bias = true;
    std::string scale_by = "d_head";
    double dropout = 0;
    static constexpr auto fields() {
      return std::tuple{
          field("d_out", &Params::d_out, "width of all heads together; absent = d_model", at_least(1)),
          field("causal", &Params::causal, "if a token sees only itself and what came before"),
          field("qkv_bias", &Params::qkv_bias, "if the layers for queries, keys and values add a bias"),
          field("out_proj", &Params::out_proj, "if a linear layer mixes the merged heads"),
          field("out_bias", &Params::out_bias, "if out_proj, where there is one, adds a bias"),
          field("scale_by", &Params::scale_by, "width whose root divides the scores", one_of("d_head", "d_out")),
          field("dropout", &Params::dropout, "share of attention weights dropped in training", probability())};
    }
    std::int64_t width(const Dims& dims) const { return d_out.value_or(dims.d_model); }
  };

  static Claims claims(const Dims& dims, const Params& params) {
    return {.causal = params.causal, .key_mask = true, .d_out = params.width(dims), .cost = "O(seq^2 d_out)"};
  }

  static void check(const Dims& dims, const Params& params, Complaints& complaints) {
    if (params.width(dims) % dims.n_heads != 0)
      complaints.add(params.d_out ? "d_out" : "d_model", "got " + std::to_string(params.width(dims)) +
                                                             ", but n_heads = " + std::to_string(dims.n_heads) +
                                                             " does not divide it");
    if (params.causal && dims.context_length == 0)
      complaints.add("context_length", "missing; the causal mask is stored at this size");
  }

  MultiHeadAttention(const Dims& dims, const Params& p)
      : n_heads_(dims.n_heads), scale_width_(p.scale_by == "d_out" ? p.width(dims) : p.width(dims) / n_heads_) {
    const auto linear = [&](const char* name, std::int64_t in, bool bias) {
      return register_module(name, torch::nn::Linear(torch::nn::LinearOptions(in, p.width(dims)).bias(bias)));
    };
    W_query_ = linear("W_query", dims.d_model, p.qkv_bias);
    W_key_ = linear("W_key", dims.d_model, p.qkv_bias);
    W_value_ = linear("W_value", dims.d_model, p.qkv_bias);
    if (p.out_proj) out_proj_ = linear("out_proj", p.width(dims), p.out_bias);
    dropout_ = register_module("dropout", torch::nn::Dropout(p.dropout));
    // 1 = hidden, as in the tutorial's checkpoints.
    if (p.causal) mask_ = register_buffer("mask", at::ones({dims.context_length, dims.context_length}).triu(1));
  }

  at::Tensor forward(const Inputs& in) override {
    const auto queries = split_heads(W_query_(in.x), n_heads_);  // (batch, n_heads, seq, d_head)
    const auto keys = split_heads(W_key_(in.x), n_heads_);
    const auto values = split_heads(W_value_(in.x), n_heads_);
    const auto scores = queries.matmul(keys.transpose(-2, -1));  // (batch, n_heads, seq, seq)
    const auto scaled_scores = scores / std::sqrt(static_cast<double>(scale_width_));
    auto visible = at::ones_like(scores, at::kBool);
    if (mask_.defined()) visible = visible.logical_and(slice_mask(mask_, in.x).logical_not());
    if (in.key_mask.defined()) visible = visible.logical_and(in.key_mask.unsqueeze(1).unsqueeze(1));
    const auto weights = masked_softmax(scaled_scores, visible);
    const auto concatenated = merge_heads(dropout_(weights).matmul(values));  // (batch, seq, d_out)
    const auto context = out_proj_ ? out_proj_(concatenated) : concatenated;
    note(in, "queries", "what each token asks for, head by head", [&] { return queries; });
    note(in, "keys", "what each token offers, head by head", [&] { return keys; });
    note(in, "values", "what each token passes on, head by head", [&] { return values; });
    note(in, "scores", "dot product of each query with each key, head by head", [&] { return scores; });
    note(in, "scaled_scores", "scores / square root of a width", [&] { return scaled_scores; });
    note(in, "weights", "attention weights of each head: each row as shares of 1", [&] { return weights; });
    note(in, "concatenated", "weighted sums of the values, the heads side by side", [&] { return concatenated; });
    note(in, "context", "the heads mixed by out_proj", [&] { return context; });
    return context;
  }

 private:
  const std::int64_t n_heads_, scale_width_;
  torch::nn::Linear W_query_{nullptr}, W_key_{nullptr}, W_value_{nullptr}, out_proj_{nullptr};
  torch::nn::Dropout dropout_{nullptr};
  at::Tensor mask_;
};

}  // namespace

HEADWRIGHT_PLUGIN("multi_head_attention", MultiHeadAttention);

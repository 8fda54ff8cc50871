// Self-attention for text that is still being written: a token sees itself and what came before it.
//   y = dropout(softmax(mask(q k^T / sqrt(d_out)))) v,   mask: -inf where the key comes after the query
// Source: Vaswani et al. 2017, arXiv:1706.03762, section 3.2.3.
// Cost:   O(seq d_model d_out + seq^2 d_out).
#include "headwright/plugin.h"

namespace {

class CausalAttention final : public headwright::Attention {
 public:
  static constexpr auto kSummary = "self_attention_v2 with a causal mask and dropout on the attention weights";
  static constexpr auto kSource = "arXiv:1706.03762, section 3.2.3";

  struct Params {
    std::optional<std::int64_t> d_out;
    bool qkv_bias = false;
    double dropout = 0;

    static constexpr auto fields() {
      return std::tuple{
          headwright::field("d_out", &Params::d_out, "width of queries, keys, values and output; absent = d_model",
                            headwright::at_least(1)),
          headwright::field("qkv_bias", &Params::qkv_bias, "if the layers for queries, keys and values add a bias"),
          headwright::field("dropout", &Params::dropout, "probability of dropping an attention weight in training",
                            headwright::probability()),
      };
    }
  };

  static headwright::Claims claims(const headwright::Dims& dims, const Params& params) {
    return {.causal = true, .key_mask = true, .d_out = params.d_out.value_or(dims.d_model), .cost = "O(seq^2 d_out)"};
  }
  static void check(const headwright::Dims& dims, const Params&, headwright::Issues& issues) {
    if (dims.context_length == 0) issues.add("context_length", "missing; causal_attention stores a mask of this size");
  }

  CausalAttention(const headwright::Dims& dims, const Params& params) : d_out_(params.d_out.value_or(dims.d_model)) {
    const auto options = torch::nn::LinearOptions(dims.d_model, d_out_).bias(params.qkv_bias);
    W_query_ = register_module("W_query", torch::nn::Linear(options));
    W_key_ = register_module("W_key", torch::nn::Linear(options));
    W_value_ = register_module("W_value", torch::nn::Linear(options));
    dropout_ = register_module("dropout", torch::nn::Dropout(params.dropout));
    // 1 = hidden, as in the tutorial's checkpoints; everywhere else true = visible.
    mask_ = register_buffer("mask", at::ones({dims.context_length, dims.context_length}).triu(1));
  }

  at::Tensor forward(const headwright::Inputs& inputs) override {
    const auto queries = W_query_(inputs.x);  // (batch, seq, d_out)
    const auto keys = W_key_(inputs.x);
    const auto values = W_value_(inputs.x);
    const auto scores =
        headwright::wide(queries).matmul(headwright::wide(keys).transpose(-2, -1));  // (batch, seq, seq)
    const auto scaled_scores = scores / std::sqrt(static_cast<double>(d_out_));
    auto visible = headwright::slice_mask(mask_, inputs.x).logical_not();  // (seq, seq)
    if (inputs.key_mask.defined()) visible = visible.logical_and(inputs.key_mask.unsqueeze(1));
    const auto weights = headwright::masked_softmax(scaled_scores, visible);
    const auto context =
        dropout_(weights).matmul(headwright::wide(values)).to(values.scalar_type());  // (batch, seq, d_out)
    note(inputs, "scores", "dot product of each query with each key", [&] { return scores; });
    note(inputs, "scaled_scores", "scores / sqrt(width of a key)", [&] { return scaled_scores; });
    note(inputs, "masked_scores", "-inf where a query must not see a key",
         [&] { return scaled_scores.masked_fill(visible.logical_not(), -INFINITY); });
    note(inputs, "weights", "attention weights: each row as shares of 1, 0 above the diagonal",
         [&] { return weights; });
    note(inputs, "context", "weighted sum of the values", [&] { return context; });
    return context;
  }

 private:
  const std::int64_t d_out_;
  torch::nn::Linear W_query_{nullptr}, W_key_{nullptr}, W_value_{nullptr};
  torch::nn::Dropout dropout_{nullptr};
  at::Tensor mask_;
};

}  // namespace

HEADWRIGHT_PLUGIN("causal_attention", CausalAttention);

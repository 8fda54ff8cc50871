// Self-attention with linear layers: as v1, with a better start for the weight parameters and an optional bias.
//
//   q = W_query x,  k = W_key x,  v = W_value x,   y = softmax(q k^T / sqrt(d_out)) v
//
// Source: Vaswani et al. 2017, arXiv:1706.03762, section 3.2.1.
// Cost:   O(seq d_model d_out + seq^2 d_out).
#include "headwright/plugin.h"

namespace {

class SelfAttentionV2 final : public headwright::Attention {
 public:
  static constexpr auto kSummary = "queries, keys and values by three linear layers";
  static constexpr auto kSource = "arXiv:1706.03762, section 3.2.1";

  struct Params {
    std::optional<std::int64_t> d_out;
    bool qkv_bias = false;

    static constexpr auto fields() {
      return std::tuple{
          headwright::field("d_out", &Params::d_out, "width of queries, keys, values and output; absent = d_model",
                            headwright::at_least(1)),
          headwright::field("qkv_bias", &Params::qkv_bias, "if the layers for queries, keys and values add a bias"),
      };
    }
  };

  static headwright::Claims claims(const headwright::Dims& dims, const Params& params) {
    return {.key_mask = true, .d_out = params.d_out.value_or(dims.d_model), .cost = "O(seq^2 d_out)"};
  }

  SelfAttentionV2(const headwright::Dims& dims, const Params& params) : d_out_(params.d_out.value_or(dims.d_model)) {
    const auto options = torch::nn::LinearOptions(dims.d_model, d_out_).bias(params.qkv_bias);
    W_query_ = register_module("W_query", torch::nn::Linear(options));
    W_key_ = register_module("W_key", torch::nn::Linear(options));
    W_value_ = register_module("W_value", torch::nn::Linear(options));
  }

  at::Tensor forward(const headwright::Inputs& inputs) override {
    const auto queries = W_query_(inputs.x);  // (batch, seq, d_out)
    const auto keys = W_key_(inputs.x);
    const auto values = W_value_(inputs.x);
    const auto scores =
        headwright::wide(queries).matmul(headwright::wide(keys).transpose(-2, -1));  // (batch, seq, seq)
    const auto scaled_scores = scores / std::sqrt(static_cast<double>(d_out_));
    const auto visible = inputs.key_mask.defined() ? inputs.key_mask.unsqueeze(1) : at::Tensor();
    const auto weights = headwright::masked_softmax(scaled_scores, visible);
    const auto context = weights.matmul(headwright::wide(values)).to(values.scalar_type());  // (batch, seq, d_out)
    note(inputs, "queries", "what each token asks for", [&] { return queries; });
    note(inputs, "keys", "what each token offers", [&] { return keys; });
    note(inputs, "values", "what each token passes on", [&] { return values; });
    note(inputs, "scores", "dot product of each query with each key", [&] { return scores; });
    note(inputs, "scaled_scores", "scores / sqrt(width of a key)", [&] { return scaled_scores; });
    note(inputs, "weights", "attention weights: each row as shares of 1", [&] { return weights; });
    note(inputs, "context", "weighted sum of the values", [&] { return context; });
    return context;
  }

 private:
  const std::int64_t d_out_;
  torch::nn::Linear W_query_{nullptr}, W_key_{nullptr}, W_value_{nullptr};
};

}  // namespace

HEADWRIGHT_PLUGIN("self_attention_v2", SelfAttentionV2);

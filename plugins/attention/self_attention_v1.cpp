// Self-attention with weight parameters: three matrices turn each token into a query, a key and a value.
//
//   q = x W_query,  k = x W_key,  v = x W_value,   y = softmax(q k^T / sqrt(d_out)) v
//
// Source: Vaswani et al. 2017, arXiv:1706.03762, section 3.2.1; matrices drawn uniformly from [0, 1).
// Cost:   O(seq d_model d_out + seq^2 d_out).
#include "headwright/plugin.h"

namespace {

class SelfAttentionV1 final : public headwright::Attention {
 public:
  static constexpr auto kSummary = "queries, keys and values by three plain matrices";
  static constexpr auto kSource = "arXiv:1706.03762, section 3.2.1";

  struct Params {
    std::optional<std::int64_t> d_out;

    static constexpr auto fields() {
      return std::tuple{headwright::field("d_out", &Params::d_out,
                                          "width of queries, keys, values and output; absent = d_model",
                                          headwright::at_least(1))};
    }
  };

  static headwright::Claims claims(const headwright::Dims& dims, const Params& params) {
    return {.key_mask = true, .d_out = params.d_out.value_or(dims.d_model), .cost = "O(seq^2 d_out)"};
  }

  SelfAttentionV1(const headwright::Dims& dims, const Params& params) : d_out_(params.d_out.value_or(dims.d_model)) {
    W_query_ = register_parameter("W_query", at::rand({dims.d_model, d_out_}));
    W_key_ = register_parameter("W_key", at::rand({dims.d_model, d_out_}));
    W_value_ = register_parameter("W_value", at::rand({dims.d_model, d_out_}));
  }

  at::Tensor forward(const headwright::Inputs& inputs) override {
    const auto queries = inputs.x.matmul(W_query_);  // (batch, seq, d_out)
    const auto keys = inputs.x.matmul(W_key_);
    const auto values = inputs.x.matmul(W_value_);
    const auto scores =
        headwright::wide(queries).matmul(headwright::wide(keys).transpose(-2, -1));  // (batch, seq, seq)
    const auto scaled_scores = scores / std::sqrt(static_cast<double>(d_out_));
    const auto visible = inputs.key_mask.defined() ? inputs.key_mask.unsqueeze(1) : at::Tensor();
    const auto weights = headwright::masked_softmax(scaled_scores, visible);
    const auto context = weights.matmul(headwright::wide(values)).to(values.scalar_type());  // (batch, seq, d_out)
    note(inputs, "queries", "what each token asks for: x W_query", [&] { return queries; });
    note(inputs, "keys", "what each token offers: x W_key", [&] { return keys; });
    note(inputs, "values", "what each token passes on: x W_value", [&] { return values; });
    note(inputs, "scores", "dot product of each query with each key", [&] { return scores; });
    note(inputs, "scaled_scores", "scores / sqrt(width of a key)", [&] { return scaled_scores; });
    note(inputs, "weights", "attention weights: each row as shares of 1", [&] { return weights; });
    note(inputs, "context", "weighted sum of the values", [&] { return context; });
    return context;
  }

 private:
  const std::int64_t d_out_;
  at::Tensor W_query_, W_key_, W_value_;
};

}  // namespace

HEADWRIGHT_PLUGIN("self_attention_v1", SelfAttentionV1);

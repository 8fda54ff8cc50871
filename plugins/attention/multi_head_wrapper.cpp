// Several heads, the plain way: n_heads independent causal attentions side by side, their outputs concatenated.
//   y = [head_1(x), ..., head_H(x)],   head_h(x) = dropout(softmax(mask(q_h k_h^T / sqrt(d_out)))) v_h
// Source: Vaswani et al. 2017, arXiv:1706.03762, section 3.2.2, without W_o.   Cost: that of n_heads heads.
#include "headwright/plugin.h"

namespace {
using namespace headwright;

class MultiHeadWrapper final : public Attention {
 public:
  static constexpr auto kSummary = "independent causal heads, their outputs concatenated to n_heads * d_out";
  static constexpr auto kSource = "arXiv:1706.03762, section 3.2.2";

  struct Params {
    std::optional<std::int64_t> d_out;
    bool qkv_bias = false;
    double dropout = 0;
    static constexpr auto fields() {
      return std::tuple{field("d_out", &Params::d_out, "width of one head; absent = d_model", at_least(1)),
                        field("qkv_bias", &Params::qkv_bias, "if queries, keys and values have a bias"),
                        field("dropout", &Params::dropout, "share of weights dropped in training", probability())};
    }
    std::int64_t width(const Dims& dims) const { return d_out.value_or(dims.d_model); }
  };

  static Claims claims(const Dims& dims, const Params& p) {
    return {.causal = true,
            .key_mask = true,
            .d_out = dims.n_heads * p.width(dims),
            .cost = "O(n_heads seq^2 d_out)",
            .reads = {.n_heads = true}};
  }
  static void check(const Dims& dims, const Params&, Issues& issues) {
    if (dims.context_length == 0) issues.add("context_length", "missing; the mask of each head has this size");
    if (dims.n_heads > 4096) issues.add("n_heads", "got more than 4096; each head is a module of its own");
  }

  MultiHeadWrapper(const Dims& dims, const Params& params) : d_out_(params.width(dims)) {
    const auto options = torch::nn::LinearOptions(dims.d_model, d_out_).bias(params.qkv_bias);
    auto& list = *register_module("heads", std::make_shared<torch::nn::Module>("heads"));
    for (std::int64_t h = 0; h < dims.n_heads; ++h) {
      auto& head = *list.register_module(std::to_string(h), std::make_shared<torch::nn::Module>("head"));
      const auto linear = [&](const char* name) { return head.register_module(name, torch::nn::Linear(options)); };
      auto mask = at::ones({dims.context_length, dims.context_length}).triu(1);  // 1 = hidden, as in the tutorial
      heads_.push_back({linear("W_query"), linear("W_key"), linear("W_value"), head.register_buffer("mask", mask),
                        head.register_module("dropout", torch::nn::Dropout(params.dropout))});
    }
  }

  at::Tensor forward(const Inputs& inputs) override {
    std::vector<at::Tensor> contexts;
    for (auto& head : heads_) {
      contexts.push_back(of_head(head, inputs.with(inputs.x, "heads." + std::to_string(contexts.size()))));
    }
    const auto context = at::cat(contexts, -1);  // (batch, seq, n_heads * d_out)
    note(inputs, "context", "the outputs of all heads side by side", [&] { return context; });
    return context;
  }

 private:
  struct Head {
    torch::nn::Linear W_query, W_key, W_value;
    at::Tensor mask;
    torch::nn::Dropout dropout;
  };

  at::Tensor of_head(Head& head, const Inputs& inputs) const {
    const auto q = wide(head.W_query(inputs.x)), k = wide(head.W_key(inputs.x)), v = wide(head.W_value(inputs.x));
    const auto scores = q.matmul(k.transpose(-2, -1));    // (batch, seq, seq)
    auto visible = slice_mask(head.mask, inputs.x) == 0;  // (seq, seq)
    if (inputs.key_mask.defined()) visible = visible.logical_and(inputs.key_mask.unsqueeze(1));
    const auto weights = masked_softmax(scores / std::sqrt(static_cast<double>(d_out_)), visible);
    const auto context = head.dropout(weights).matmul(v).to(inputs.x.scalar_type());  // (batch, seq, d_out)
    note(inputs, "weights", "attention weights of this head: each row as shares of 1", [&] { return weights; });
    note(inputs, "context", "weighted sum of the values of this head", [&] { return context; });
    return context;
  }
  const std::int64_t d_out_;
  std::vector<Head> heads_;
};

}  // namespace

HEADWRIGHT_PLUGIN("multi_head_wrapper", MultiHeadWrapper);

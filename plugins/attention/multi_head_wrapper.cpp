// Several heads, the plain way: n_heads independent causal attentions side by side, their outputs concatenated.
//
//   y = [head_1(x), ..., head_H(x)],   head_h(x) = dropout(softmax(mask(q_h k_h^T / sqrt(d_out)))) v_h
//
// Source: Vaswani et al. 2017, arXiv:1706.03762, section 3.2.2, without the projection of the result.
// Cost:   O(n_heads (seq d_model d_out + seq^2 d_out)), head after head.
#include "headwright/plugin.h"

namespace {

struct Params {
  std::optional<std::int64_t> d_out;
  bool qkv_bias = false;
  double dropout = 0;

  static constexpr auto fields() {
    return std::tuple{
        headwright::field("d_out", &Params::d_out, "width of one head; absent = d_model", headwright::at_least(1)),
        headwright::field("qkv_bias", &Params::qkv_bias, "if the layers for queries, keys and values add a bias"),
        headwright::field("dropout", &Params::dropout, "probability of dropping an attention weight in training",
                          headwright::probability()),
    };
  }
};

/// One causal attention with its own weight parameters.
class Head final : public headwright::Attention {
 public:
  Head(const headwright::Dims& dims, const Params& params) : d_out_(params.d_out.value_or(dims.d_model)) {
    const auto options = torch::nn::LinearOptions(dims.d_model, d_out_).bias(params.qkv_bias);
    W_query_ = register_module("W_query", torch::nn::Linear(options));
    W_key_ = register_module("W_key", torch::nn::Linear(options));
    W_value_ = register_module("W_value", torch::nn::Linear(options));
    dropout_ = register_module("dropout", torch::nn::Dropout(params.dropout));
    mask_ = register_buffer("mask", at::ones({dims.context_length, dims.context_length}).triu(1));  // 1 = hidden
  }

  at::Tensor forward(const headwright::Inputs& inputs) override {
    const auto scores = W_query_(inputs.x).matmul(W_key_(inputs.x).transpose(-2, -1));  // (batch, seq, seq)
    auto visible = headwright::slice_mask(mask_, inputs.x).logical_not();               // (seq, seq)
    if (inputs.key_mask.defined()) visible = visible.logical_and(inputs.key_mask.unsqueeze(1));
    const auto weights = headwright::masked_softmax(scores / std::sqrt(static_cast<double>(d_out_)), visible);
    const auto context = dropout_(weights).matmul(W_value_(inputs.x));  // (batch, seq, d_out)
    note(inputs, "weights", "attention weights of this head: each row as shares of 1", [&] { return weights; });
    note(inputs, "context", "weighted sum of the values of this head", [&] { return context; });
    return context;
  }

 private:
  const std::int64_t d_out_;
  torch::nn::Linear W_query_{nullptr}, W_key_{nullptr}, W_value_{nullptr};
  torch::nn::Dropout dropout_{nullptr};
  at::Tensor mask_;
};

class MultiHeadWrapper final : public headwright::Attention {
 public:
  static constexpr auto kSummary = "independent causal heads, their outputs concatenated to n_heads * d_out";
  static constexpr auto kSource = "arXiv:1706.03762, section 3.2.2";
  using Params = ::Params;

  static headwright::Claims claims(const headwright::Dims& dims, const Params& params) {
    return {.causal = true,
            .key_mask = true,
            .d_out = dims.n_heads * params.d_out.value_or(dims.d_model),
            .cost = "O(n_heads seq^2 d_out)"};
  }

  static void check(const headwright::Dims& dims, const Params&, headwright::Complaints& complaints) {
    if (dims.context_length == 0) complaints.add("context_length", "missing; each head stores a mask of this size");
  }

  MultiHeadWrapper(const headwright::Dims& dims, const Params& params) {
    const auto heads = register_module("heads", std::make_shared<torch::nn::Module>("heads"));
    for (std::int64_t h = 0; h < dims.n_heads; ++h) {
      heads_.push_back(heads->register_module(std::to_string(h), std::make_shared<Head>(dims, params)));
    }
  }

  at::Tensor forward(const headwright::Inputs& inputs) override {
    std::vector<at::Tensor> contexts;
    for (std::size_t h = 0; h < heads_.size(); ++h) {
      contexts.push_back(heads_[h]->forward(inputs.with(inputs.x, "heads." + std::to_string(h))));
    }
    const auto context = at::cat(contexts, -1);  // (batch, seq, n_heads * d_out)
    note(inputs, "context", "the outputs of all heads side by side", [&] { return context; });
    return context;
  }

 private:
  std::vector<std::shared_ptr<Head>> heads_;
};

}  // namespace

HEADWRIGHT_PLUGIN("multi_head_wrapper", MultiHeadWrapper);

// The feed-forward layer of the first Transformer: widen, cut off below zero, narrow.
//
//   y = W_2 max(0, W_1 x + b_1) + b_2
//
// Source: Vaswani et al. 2017, arXiv:1706.03762, section 3.3.
// Cost:   O(seq d_model d_ff).
#include "headwright/plugin.h"

namespace {

class Relu final : public headwright::FeedForward {
 public:
  static constexpr auto kSummary = "two linear layers with a ReLU between them";
  static constexpr auto kSource = "arXiv:1706.03762, section 3.3";

  struct Params {
    std::optional<std::int64_t> d_ff;
    bool bias = true;

    static constexpr auto fields() {
      return std::tuple{
          headwright::field("d_ff", &Params::d_ff, "width between the two layers; absent = 4 d_model",
                            headwright::at_least(1)),
          headwright::field("bias", &Params::bias, "add a bias to both layers"),
      };
    }
  };

  static std::int64_t width(const headwright::Dims& dims, const Params& params) {
    return params.d_ff.value_or(4 * dims.d_model);
  }

  static headwright::ParamMap effective(const headwright::Dims& dims, const Params& params) {
    return {{"d_ff", {width(dims, params)}}};
  }

  Relu(const headwright::Dims& dims, const Params& params) {
    const auto d_ff = width(dims, params);
    const auto linear = [&](std::int64_t in, std::int64_t out) {
      return torch::nn::Linear(torch::nn::LinearOptions(in, out).bias(params.bias));
    };
    up_proj_ = register_module("up_proj", linear(dims.d_model, d_ff));
    down_proj_ = register_module("down_proj", linear(d_ff, dims.d_model));
  }

  at::Tensor forward(const at::Tensor& x) override {
    return down_proj_(at::relu(up_proj_(x)));  // (batch, seq, d_model)
  }

 private:
  torch::nn::Linear up_proj_{nullptr}, down_proj_{nullptr};
};

}  // namespace

HEADWRIGHT_PLUGIN("relu", Relu);

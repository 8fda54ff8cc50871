// The feed-forward layer of GPT-2: widen, GELU, narrow.
//
//   y = W_2 gelu(W_1 x + b_1) + b_2
//
// Source: Hendrycks and Gimpel 2016, arXiv:1606.08415.
// Cost:   O(seq d_model d_ff).
#include "headwright/plugin.h"

namespace {

class Gelu final : public headwright::FeedForward {
 public:
  static constexpr auto kSummary = "two linear layers with a GELU between them";
  static constexpr auto kSource = "arXiv:1606.08415";

  struct Params {
    std::optional<std::int64_t> d_ff;
    bool bias = true;
    std::string approximate = "exact";

    static constexpr auto fields() {
      return std::tuple{
          headwright::field("d_ff", &Params::d_ff, "width between the two layers; absent = 4 d_model",
                            headwright::at_least(1)),
          headwright::field("bias", &Params::bias, "add a bias to both layers"),
          headwright::field("approximate", &Params::approximate, "GELU by the error function, or by tanh as in GPT-2",
                            headwright::one_of("exact", "tanh")),
      };
    }
  };

  static std::int64_t width(const headwright::Dims& dims, const Params& params) {
    return params.d_ff.value_or(4 * dims.d_model);
  }

  static headwright::ParamMap effective(const headwright::Dims& dims, const Params& params) {
    return {{"d_ff", {width(dims, params)}}};
  }

  Gelu(const headwright::Dims& dims, const Params& params)
      : approximate_(params.approximate == "tanh" ? "tanh" : "none") {
    const auto d_ff = width(dims, params);
    const auto linear = [&](std::int64_t in, std::int64_t out) {
      return torch::nn::Linear(torch::nn::LinearOptions(in, out).bias(params.bias));
    };
    up_proj_ = register_module("up_proj", linear(dims.d_model, d_ff));
    down_proj_ = register_module("down_proj", linear(d_ff, dims.d_model));
  }

  at::Tensor forward(const at::Tensor& x) override {
    return down_proj_(at::gelu(up_proj_(x), approximate_));  // (batch, seq, d_model)
  }

 private:
  const std::string approximate_;
  torch::nn::Linear up_proj_{nullptr}, down_proj_{nullptr};
};

}  // namespace

HEADWRIGHT_PLUGIN("gelu", Gelu);

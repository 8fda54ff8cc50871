// The gated feed-forward layer of Llama and its kin: one branch decides how much of the other passes.
//
//   y = W_down (silu(W_gate x) * (W_up x)),   silu(a) = a sigmoid(a)
//
// Source: Shazeer 2020, arXiv:2002.05202, section 2.
// Cost:   O(seq d_model d_ff), with three matrices: at 8/3 d_model as much as two at 4 d_model.
#include "headwright/plugin.h"

namespace {

class SwiGlu final : public headwright::FeedForward {
 public:
  static constexpr auto kSummary = "three linear layers, one a gate through SiLU";
  static constexpr auto kSource = "arXiv:2002.05202, section 2";

  struct Params {
    std::optional<std::int64_t> d_ff;
    bool bias = false;

    static constexpr auto fields() {
      return std::tuple{
          headwright::field("d_ff", &Params::d_ff, "width of the gate; absent = 8/3 d_model, rounded up",
                            headwright::at_least(1)),
          headwright::field("bias", &Params::bias, "add a bias to the three layers"),
      };
    }
  };

  static std::int64_t width(const headwright::Dims& dims, const Params& params) {
    return params.d_ff.value_or((8 * dims.d_model + 2) / 3);
  }

  static headwright::ParamMap effective(const headwright::Dims& dims, const Params& params) {
    return {{"d_ff", {width(dims, params)}}};
  }

  SwiGlu(const headwright::Dims& dims, const Params& params) {
    const auto d_ff = width(dims, params);
    const auto linear = [&](std::int64_t in, std::int64_t out) {
      return torch::nn::Linear(torch::nn::LinearOptions(in, out).bias(params.bias));
    };
    gate_proj_ = register_module("gate_proj", linear(dims.d_model, d_ff));
    up_proj_ = register_module("up_proj", linear(dims.d_model, d_ff));
    down_proj_ = register_module("down_proj", linear(d_ff, dims.d_model));
  }

  at::Tensor forward(const at::Tensor& x) override {
    return down_proj_(at::silu(gate_proj_(x)) * up_proj_(x));  // (batch, seq, d_model)
  }

 private:
  torch::nn::Linear gate_proj_{nullptr}, up_proj_{nullptr}, down_proj_{nullptr};
};

}  // namespace

HEADWRIGHT_PLUGIN("swiglu", SwiGlu);

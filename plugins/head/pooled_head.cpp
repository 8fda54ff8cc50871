// Pooled head: one vector for each sequence, from its first or last token or the mean of all, through a layer with tanh
// and one to the outputs where they are asked for.
//
//   p = x_first, x_last or mean_i x_i over visible tokens,   y = W tanh(V p + a) + b
//
// Source: Devlin et al. 2018, arXiv:1810.04805, section 3 (first, tanh); Reimers and Gurevych 2019, arXiv:1908.10084,
//         section 3 (mean).
// Cost:   O(seq d_model + d_model (d_model + d_out)).
#include "headwright/plugin.h"

namespace {

using namespace headwright;

class PooledHead final : public Head {
 public:
  static constexpr auto kSummary =
      "one vector for each sequence: first, last or mean token, with a tanh layer or outputs";
  static constexpr auto kSource = "arXiv:1810.04805, section 3; arXiv:1908.10084, section 3";

  struct Params {
    std::string pool = "first";
    bool tanh_layer = true;
    std::optional<std::int64_t> d_out;

    static constexpr auto fields() {
      return std::tuple{
          field("pool", &Params::pool, "the visible token that stands for the sequence, or the mean of all of them",
                one_of("first", "last", "mean")),
          field("tanh_layer", &Params::tanh_layer, "pass it through a linear layer with bias and tanh"),
          field("d_out", &Params::d_out, "width of a linear layer with bias at the end; absent = none", at_least(1)),
      };
    }
  };

  static Claims claims(const Dims& dims, const Params& params) {
    return {.key_mask = true,
            .d_out = params.d_out.value_or(dims.d_model),
            .cost = "O(seq d_model + d_model (d_model + d_out))",
            .pools = true};
  }

  PooledHead(const Dims& dims, const Params& params) : params_(params) {
    if (params.tanh_layer) dense_ = register_module("dense", torch::nn::Linear(dims.d_model, dims.d_model));
    if (params.d_out) out_proj_ = register_module("out_proj", torch::nn::Linear(dims.d_model, *params.d_out));
  }

  at::Tensor forward(const Inputs& in) override {
    auto y = pooled(in.x, in.key_mask);  // (batch, d_model)
    if (dense_) y = dense_(y).tanh();
    return out_proj_ ? out_proj_(y) : y;
  }

 private:
  /// A weight for each token; all zeros for a sequence of which nothing is visible, and so is the result.
  at::Tensor pooled(const at::Tensor& x, const at::Tensor& key_mask) const {
    const auto visible = key_mask.defined() ? key_mask : at::ones_like(x.select(-1, 0), at::kBool);  // (batch, seq)
    const auto count = visible.to(at::kLong).cumsum(1);
    auto weights = visible;
    if (params_.pool == "first") weights = visible.logical_and(count.eq(1));
    if (params_.pool == "last") {
      const auto after = visible.to(at::kLong).flip(1).cumsum(1).flip(1);  // visible tokens from here on
      weights = visible.logical_and(after.eq(1));
    }
    const auto wide_x = wide(x).masked_fill(weights.logical_not().unsqueeze(-1), 0);
    const auto sum = wide_x.sum(1);  // (batch, d_model)
    if (params_.pool != "mean") return sum.to(x.scalar_type());
    const auto tokens = visible.to(wide_x.scalar_type()).sum(1, /*keepdim=*/true).clamp_min(1);
    return (sum / tokens).to(x.scalar_type());
  }

  const Params params_;
  torch::nn::Linear dense_{nullptr}, out_proj_{nullptr};
};

}  // namespace

HEADWRIGHT_PLUGIN("pooled_head", PooledHead);

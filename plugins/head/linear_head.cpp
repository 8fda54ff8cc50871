// Linear head: a score for each output, most often for each token id.
//
//   y_i = cap(scale (W x_i + b)),   cap(s) = softcap tanh(s / softcap)
//
// Tied, W is the matrix of the token embedding.
// Source: Press and Wolf 2016, arXiv:1608.05859 (tied); Gemma Team 2024, arXiv:2408.00118, section 2 (softcap).
// Cost:   O(seq d_model d_out).
#include <torch/nn/init.h>

#include <cmath>

#include "headwright/plugin.h"

namespace {

using namespace headwright;

class LinearHead final : public Head {
 public:
  static constexpr auto kSummary = "a score for each output, tied to the embedding or not, with scale and softcap";
  static constexpr auto kSource = "arXiv:1608.05859";

  struct Params {
    bool tied = false, bias = false;
    std::optional<std::int64_t> d_out;
    std::optional<double> scale, softcap;

    static constexpr auto fields() {
      return std::tuple{
          field("tied", &Params::tied, "share the matrix of the token embedding"),
          field("bias", &Params::bias, "add a bias"),
          field("d_out", &Params::d_out, "width of the output; absent = vocab_size", at_least(1)),
          field("scale", &Params::scale, "factor on the scores, such as 1 / sqrt(d_model) in T5; absent = 1",
                positive()),
          field("softcap", &Params::softcap, "bound of the scores: s <- softcap tanh(s / softcap); absent = none",
                positive()),
      };
    }
  };

  static Claims claims(const Dims& dims, const Params& params) {
    return {.d_out = params.d_out.value_or(dims.vocab_size), .cost = "O(seq d_model d_out)", .tied = params.tied};
  }

  static void check(const Dims& dims, const Params& params, Issues& issues) {
    check_outputs(dims, params.tied, params.d_out, issues);
  }

  LinearHead(const Dims& dims, const Params& params) : params_(params) {
    const auto d_out = params.d_out.value_or(dims.vocab_size);
    weight_ = register_parameter("weight", at::empty({params.tied ? 0 : d_out, dims.d_model}));
    if (!params.tied) torch::nn::init::kaiming_uniform_(weight_, std::sqrt(5.0));  // what torch::nn::Linear draws
    if (!params.bias) return;
    bias_ = register_parameter("bias", at::empty({d_out}));
    const double bound = 1 / std::sqrt(static_cast<double>(dims.d_model));
    torch::nn::init::uniform_(bias_, -bound, bound);
  }

  void tie(const at::Tensor& matrix) override { weight_ = parameters_["weight"] = matrix; }

  at::Tensor forward(const Inputs& in) override {
    auto y = at::linear(in.x, weight_, bias_);  // (batch, seq, d_out)
    if (params_.scale) y = y * *params_.scale;
    return params_.softcap ? at::tanh(y / *params_.softcap) * *params_.softcap : y;
  }

 private:
  const Params params_;
  at::Tensor weight_, bias_;  // (d_out, d_model), (d_out)
};

}  // namespace

HEADWRIGHT_PLUGIN("linear_head", LinearHead);

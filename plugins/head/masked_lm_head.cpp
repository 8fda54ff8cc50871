// Masked-language-model head (BERT): a layer of its own before the scores of token ids.
//
//   y_i = W norm(act(V x_i + a)) + b
//
// Tied, W is the matrix of the token embedding.
// Source: Devlin et al. 2018, arXiv:1810.04805, section 3.1, and its released code.
// Cost:   O(seq d_model (d_model + d_out)).
#include <torch/nn/init.h>

#include <cmath>

#include "headwright/plugin.h"

namespace {

using namespace headwright;

class MaskedLmHead final : public Head {
 public:
  static constexpr auto kSummary = "a dense layer, an activation and a norm before the scores of token ids (BERT)";
  static constexpr auto kSource = "arXiv:1810.04805, section 3.1";

  struct Params {
    bool tied = true;
    std::optional<std::int64_t> d_out;
    std::string activation = "gelu";
    Component norm;

    static constexpr auto fields() {
      return std::tuple{
          field("tied", &Params::tied, "share the matrix of the token embedding"),
          field("d_out", &Params::d_out, "width of the output; absent = vocab_size", at_least(1)),
          field("activation", &Params::activation, "after the dense layer", one_of("gelu", "gelu_tanh", "relu")),
          field("norm", &Params::norm, "norm after the activation", component_of(Kind::norm)),
      };
    }
  };

  static Claims claims(const Dims& dims, const Params& params) {
    return {.d_out = params.d_out.value_or(dims.vocab_size),
            .cost = "O(seq d_model (d_model + d_out))",
            .tied = params.tied};
  }

  static void check(const Dims& dims, const Params& params, Issues& issues) {
    check_outputs(dims, params.tied, params.d_out, issues);
    check_nested(params.norm, dims, "norm", issues);
  }

  MaskedLmHead(const Dims& dims, const Params& params) : params_(params) {
    const auto d_out = params.d_out.value_or(dims.vocab_size);
    dense_ = register_module("dense", torch::nn::Linear(dims.d_model, dims.d_model));
    norm_ = make_norm(params.norm, dims);
    if (norm_) register_module("norm", norm_);
    weight_ = register_parameter("weight", at::empty({params.tied ? 0 : d_out, dims.d_model}));
    if (!params.tied) torch::nn::init::kaiming_uniform_(weight_, std::sqrt(5.0));  // what torch::nn::Linear draws
    bias_ = register_parameter("bias", at::zeros({d_out}));
  }

  void tie(const at::Tensor& matrix) override { weight_ = parameters_["weight"] = matrix; }

  at::Tensor forward(const Inputs& in) override {
    auto y = activated(dense_(in.x));  // (batch, seq, d_model)
    if (norm_) y = norm_->forward(y);
    return at::linear(y, weight_, bias_);  // (batch, seq, d_out)
  }

 private:
  at::Tensor activated(const at::Tensor& x) const {
    if (params_.activation == "relu") return x.relu();
    return at::gelu(x, params_.activation == "gelu" ? "none" : "tanh");
  }

  const Params params_;
  torch::nn::Linear dense_{nullptr};
  std::shared_ptr<Norm> norm_;
  at::Tensor weight_, bias_;  // (d_out, d_model), (d_out)
};

}  // namespace

HEADWRIGHT_PLUGIN("masked_lm_head", MaskedLmHead);

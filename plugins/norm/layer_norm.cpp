// Layer normalisation: each token to mean 0 and variance 1 over its features, then a learned scale and shift.
//
//   y = (x - mean(x)) / sqrt(var(x) + eps) * weight + bias
//
// Source: Ba et al. 2016, arXiv:1607.06450, section 3.
// Cost:   O(seq d_model).
#include "headwright/plugin.h"

namespace {

class LayerNorm final : public headwright::Norm {
 public:
  static constexpr auto kSummary = "mean 0 and variance 1 over the features, then scale and shift";
  static constexpr auto kSource = "arXiv:1607.06450, section 3";

  struct Params {
    double eps = 1e-5;
    bool affine = true;
    std::optional<bool> bias;

    static constexpr auto fields() {
      return std::tuple{
          headwright::field("eps", &Params::eps, "added to the variance", headwright::positive()),
          headwright::field("affine", &Params::affine, "a learned scale for each feature"),
          headwright::field("bias", &Params::bias, "a learned shift for each feature, with affine; absent = as affine"),
      };
    }
    bool shifts() const { return bias.value_or(affine); }
  };

  static void check(const headwright::Dims&, const Params& params, headwright::Issues& issues) {
    if (!params.affine && params.shifts()) issues.add("bias", "got true, which has no effect with affine: false");
  }

  static headwright::ParamMap effective(const headwright::Dims&, const Params& params) {
    return {{"bias", {params.shifts()}}};
  }

  LayerNorm(const headwright::Dims& dims, const Params& params) : d_model_(dims.d_model), eps_(params.eps) {
    if (params.affine) weight_ = register_parameter("weight", at::ones({d_model_}));
    if (params.shifts()) bias_ = register_parameter("bias", at::zeros({d_model_}));
  }

  at::Tensor forward(const at::Tensor& x) override {
    return at::layer_norm(x, {d_model_}, weight_, bias_, eps_);  // (batch, seq, d_model)
  }

 private:
  const std::int64_t d_model_;
  const double eps_;
  at::Tensor weight_, bias_;  // undefined = none
};

}  // namespace

HEADWRIGHT_PLUGIN("layer_norm", LayerNorm);

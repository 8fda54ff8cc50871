// Root-mean-square normalisation: each token to length sqrt(d_model), then a learned scale. No mean is taken off.
//
//   y = x / sqrt(mean(x^2) + eps) * weight
//
// Source: Zhang and Sennrich 2019, arXiv:1910.07467, section 4.
// Cost:   O(seq d_model).
#include "headwright/plugin.h"

namespace {

class RmsNorm final : public headwright::Norm {
 public:
  static constexpr auto kSummary = "mean square 1 over the features, then scale";
  static constexpr auto kSource = "arXiv:1910.07467, section 4";

  struct Params {
    double eps = 1e-6;

    static constexpr auto fields() {
      return std::tuple{headwright::field("eps", &Params::eps, "added to the mean square", headwright::positive())};
    }
  };

  RmsNorm(const headwright::Dims& dims, const Params& params) : eps_(params.eps) {
    weight_ = register_parameter("weight", at::ones({dims.d_model}));
  }

  at::Tensor forward(const at::Tensor& x) override {
    // The square of a float16 overflows from 256 on, so half types are normalised in float32.
    const auto is_half = x.scalar_type() == at::kHalf || x.scalar_type() == at::kBFloat16;
    const auto wide = is_half ? x.to(at::kFloat) : x;
    const auto normalised = wide * (wide.square().mean(-1, /*keepdim=*/true) + eps_).rsqrt();
    return normalised.to(x.scalar_type()) * weight_;  // (batch, seq, d_model)
  }

 private:
  const double eps_;
  at::Tensor weight_;
};

}  // namespace

HEADWRIGHT_PLUGIN("rms_norm", RmsNorm);

// Mixing without attention: each token becomes a wave over all tokens and features. Nothing is learned.
//
//   y = Re(F_seq(F_features(x))),   F(x)_m = sum_n x_n exp(-2 pi i m n / length), not scaled
//
// The transform runs over the whole sequence, so padding cannot be hidden from it: give sequences without padding.
// Source: Lee-Thorp et al. 2021, arXiv:2105.03824, section 3.2.
// Cost:   O(seq d_model log(seq d_model)).
#include "headwright/plugin.h"

namespace {

class Fourier final : public headwright::Attention {
 public:
  static constexpr auto kSummary = "real part of the Fourier transform over tokens and features; nothing is learned";
  static constexpr auto kSource = "arXiv:2105.03824, section 3.2";

  struct Params {
    static constexpr auto fields() { return std::tuple{}; }
  };

  static headwright::Claims claims(const headwright::Dims&, const Params&) {
    return {.cost = "O(seq d_model log(seq d_model))"};
  }

  Fourier(const headwright::Dims&, const Params&) {}

  at::Tensor forward(const headwright::Inputs& inputs) override {
    const auto& x = inputs.x;
    if (x.numel() == 0) return x;
    const auto is_half = x.scalar_type() == at::kHalf || x.scalar_type() == at::kBFloat16;
    const auto waves = at::fft_fft2(is_half ? x.to(at::kFloat) : x);  // (batch, seq, d_model), complex; no half type is
    return at::real(waves).to(x.scalar_type());                       // (batch, seq, d_model)
  }

  /// No transform takes an empty sequence, which a trace cannot ask for. Types are numbers here: 5, 6 and 15 are
  /// float16, float32 and bfloat16.
  std::string torchscript() const override {
    return R"(def forward(self, x):
    if x.numel() == 0:
        return x
    wide = 6 if x.dtype == 5 or x.dtype == 15 else x.dtype
    return torch.real(torch.fft_fft2(x.to(wide))).to(x.dtype)
)";
  }
};

}  // namespace

HEADWRIGHT_PLUGIN("fourier", Fourier);

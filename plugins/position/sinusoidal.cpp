// Sinusoidal positions: each place is a row of sines and cosines of ever slower angles. Nothing is learned, and there
// is no longest sequence.
//
//   angle_i = position / 10000^(2i / d_model),   channel 2i: sin(angle_i),   channel 2i + 1: cos(angle_i)
//
// Source: Vaswani et al. 2017, arXiv:1706.03762, section 3.5.
// Cost:   O(seq d_model).
#include "headwright/plugin.h"

namespace {

class Sinusoidal final : public headwright::Position {
 public:
  static constexpr auto kSummary = "sines and cosines of the place, at any length";
  static constexpr auto kSource = "arXiv:1706.03762, section 3.5";

  struct Params {
    std::string arrangement = "interleaved";

    static constexpr auto fields() {
      return std::tuple{headwright::field("arrangement", &Params::arrangement,
                                          "sines on even channels as in the paper, or all in the first half",
                                          headwright::one_of("interleaved", "split"))};
    }
  };

  static headwright::Claims claims(const headwright::Dims&, const Params&) {
    return {.embed = true, .cost = "O(seq d_model)"};
  }

  Sinusoidal(const headwright::Dims& dims, const Params& params)
      : d_model_(dims.d_model), interleaved_(params.arrangement == "interleaved") {}

  at::Tensor embed(const at::Tensor& x, const at::Tensor& positions) override {
    // Angles need more digits than half types have; float64 where the device knows it. Channels are counted along x,
    // so that no constant ties an export to a device.
    const auto wide = x.is_mps() ? at::kFloat : at::kDouble;
    const auto channels = headwright::positions_along(x, -1).slice(0, 0, d_model_, 2).to(wide);  // 0, 2, 4, ...
    const auto rates = (channels * (-std::log(10000.0) / static_cast<double>(d_model_))).exp();
    const auto angles = positions.unsqueeze(-1).to(wide) * rates;  // (seq, ceil(d_model / 2))
    const auto table = interleaved_ ? at::stack({angles.sin(), angles.cos()}, -1).flatten(-2)
                                    : at::cat({angles.sin(), angles.cos()}, -1);
    return x + table.slice(-1, 0, d_model_).to(x.scalar_type());  // an odd d_model leaves out the last cosine
  }

 private:
  const std::int64_t d_model_;
  const bool interleaved_;
};

}  // namespace

HEADWRIGHT_PLUGIN("sinusoidal", Sinusoidal);

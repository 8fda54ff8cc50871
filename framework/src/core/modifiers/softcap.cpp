// s <- cap tanh(s / cap): scores stay within (-cap, cap) and keep their gradient.
// Source: Gemma 2, arXiv:2408.00118, section 2.
#include <ATen/ATen.h>

#include <cmath>

#include "core/modifiers/modifier_node.h"

namespace headwright {
namespace {

class Softcap final : public ModifierNode {
 public:
  explicit Softcap(double cap) : cap_(cap) {}

  at::Tensor apply(const at::Tensor& scores, const ScorePositions&) const override {
    return (scores / cap_).tanh() * cap_;
  }
  ModifierForm form() const override { return {"softcap", {{"cap", {cap_}}}}; }

 private:
  const double cap_;
};

// Beyond them a score divided by the cap is 0 or infinite in float32.
constexpr double kLeast = 1e-6, kMost = 1e6;

struct Params {
  double cap = 50;
  static constexpr auto fields() {
    return std::tuple{
        field("cap", &Params::cap, "bound on a score's magnitude, in units of scaled scores", between(kLeast, kMost))};
  }
};

}  // namespace

ScoreModifier ScoreModifier::softcap(double cap) {
  if (std::isnan(cap) || cap < kLeast || cap > kMost) {
    throw Error("[modifier] softcap: got cap = " + std::to_string(cap) + ", expected a number from 1e-6 to 1e6");
  }
  return ScoreModifier(std::make_shared<Softcap>(cap));
}

ModifierKind core::softcap_kind() {
  return {"softcap", "scores squeezed into (-cap, cap) by tanh", specs_of<Params>(),
          [](const ParamMap& values) { return ScoreModifier::softcap(params_from<Params>(values).cap); }};
}

}  // namespace headwright

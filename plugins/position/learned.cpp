// Learned positions: one trained vector per place, added to the embedding of the token that stands there.
//
//   y_i = x_i + weight[position_i]
//
// Source: Gehring et al. 2017, arXiv:1705.03122, section 3.1; GPT-2.
// Cost:   O(seq d_model).
#include "headwright/plugin.h"

namespace {

class Learned final : public headwright::Position {
 public:
  static constexpr auto kSummary = "one trained vector per place, up to context_length";
  static constexpr auto kSource = "arXiv:1705.03122, section 3.1";

  struct Params {
    static constexpr auto fields() { return std::tuple{}; }
  };

  static headwright::Claims claims(const headwright::Dims&, const Params&) {
    return {.embed = true, .cost = "O(seq d_model)"};
  }

  static void check(const headwright::Dims& dims, const Params&, headwright::Issues& issues) {
    if (dims.context_length == 0)
      issues.add("context_length", "missing; learned positions store a vector for each place");
  }

  Learned(const headwright::Dims& dims, const Params&) : context_length_(dims.context_length) {
    weight_ = register_parameter("weight", at::randn({context_length_, dims.d_model}));
  }

  at::Tensor embed(const at::Tensor& x, const at::Tensor& positions) override {
    if (positions.size(-1) > context_length_) {
      headwright::refuse_shape("learned", "positions", positions,
                               "at most context_length = " + std::to_string(context_length_) + " places");
    }
    return x + at::embedding(weight_, positions);  // (batch, seq, d_model)
  }

 private:
  const std::int64_t context_length_;
  at::Tensor weight_;
};

}  // namespace

HEADWRIGHT_PLUGIN("learned", Learned);

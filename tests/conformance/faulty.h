// An attention with one deliberate fault, to see each property of the conformance kit fail.
#pragma once
#include "headwright/plugin.h"

namespace headwright::testing {

enum class Fault {
  none,
  leaks_future,
  nan_on_empty_rows,
  ignores_key_mask,
  drops_in_eval,
  mixes_batch_rows,
  wrong_gradient,
  no_gradient,
  wrong_width,
  divides_by_zero,
  leaves_dtype,
  hidden_state,
  takes_any_width,
  undocumented,
  bakes_its_length,
  throws_when_asked,
};

/// Causal attention with one head, written plainly.
template <Fault fault>
class Faulty final : public Attention {
 public:
  static constexpr auto kSummary = "an attention with a fault", kSource = "none";

  struct Params {
    std::int64_t d_key = 3;
    double dropout = 0;
    static constexpr auto fields() {
      constexpr auto width = fault == Fault::takes_any_width ? Limits{} : at_least(1);
      constexpr auto doc = fault == Fault::undocumented ? "" : "width of a key";
      return std::tuple{field("d_key", &Params::d_key, doc, width),
                        field("dropout", &Params::dropout, "probability of dropping a weight", probability())};
    }
  };

  static Claims claims(const Dims& dims, const Params&) {
    if (fault == Fault::throws_when_asked) throw 7;  // NOLINT(bugprone-std-exception-baseclass): this is the fault
    return {.causal = true, .key_mask = true, .d_out = dims.d_model, .cost = "O(seq^2 d_model)"};
  }

  Faulty(const Dims& dims, const Params& params) : dropout_(params.dropout), hidden_(at::randn({})) {
    const auto linear = [&](const char* name, std::int64_t width) {
      return register_module(name, torch::nn::Linear(dims.d_model, width));
    };
    q_proj_ = linear("q_proj", params.d_key);
    k_proj_ = linear("k_proj", params.d_key);
    v_proj_ = linear("v_proj", dims.d_model);
  }

  at::Tensor forward(const Inputs& inputs) override {
    auto x = inputs.x;
    if (fault == Fault::mixes_batch_rows) x = x - x.mean(0, true);
    const auto scores = q_proj_(x).matmul(k_proj_(x).transpose(-2, -1));  // (batch, seq, seq)
    const std::int64_t diagonal = fault == Fault::leaks_future ? 2 : 0;
    auto visible = fault == Fault::bakes_its_length ? at::ones({x.size(1), x.size(1)}, at::kBool).tril()
                                                    : at::ones_like(scores, at::kBool).tril(diagonal);
    if (inputs.key_mask.defined() && fault != Fault::ignores_key_mask) {
      visible = visible.logical_and(inputs.key_mask.unsqueeze(1));
    }
    auto weights = fault == Fault::nan_on_empty_rows ? scores.masked_fill(visible.logical_not(), -INFINITY).softmax(-1)
                                                     : masked_softmax(scores, visible);
    weights = at::dropout(weights, dropout_, is_training() || fault == Fault::drops_in_eval);
    return spoiled(weights.matmul(v_proj_(x)));
  }

 private:
  at::Tensor spoiled(const at::Tensor& y) const {
    switch (fault) {
      case Fault::wrong_gradient:
        return y.detach() + (y - y.detach()) * 0.5;
      case Fault::no_gradient:
        return y.detach();
      case Fault::wrong_width:
        return y.slice(-1, 1);
      case Fault::divides_by_zero:
        return y / 0.0;
      case Fault::leaves_dtype:
        return y.to(at::kFloat);
      case Fault::hidden_state:
        return y * hidden_.to(y.scalar_type());
      default:
        return y;
    }
  }

  const double dropout_;
  const at::Tensor hidden_;
  torch::nn::Linear q_proj_{nullptr}, k_proj_{nullptr}, v_proj_{nullptr};
};

/// A feed-forward layer in which each token also sees the ones before it.
class MixesTokens final : public FeedForward {
 public:
  static constexpr auto kSummary = "adds up tokens", kSource = "none";
  struct Params {
    static constexpr auto fields() { return std::tuple{}; }
  };
  MixesTokens(const Dims&, const Params&) {}
  at::Tensor forward(const at::Tensor& x) override { return x.cumsum(1); }
};

/// Turns pairs of channels by position, or by what it takes for the position.
template <bool counts_itself>
class Turns final : public Position {
 public:
  static constexpr auto kSummary = "turns q and k", kSource = "none";
  struct Params {
    static constexpr auto fields() { return std::tuple{}; }
  };
  static Claims claims(const Dims&, const Params&) { return {.rotate = true}; }
  Turns(const Dims&, const Params&) {}

  std::pair<at::Tensor, at::Tensor> rotate(const at::Tensor& q, const at::Tensor& k, const at::Tensor& q_positions,
                                           const at::Tensor& k_positions) override {
    return {turned(q, q_positions), turned(k, k_positions)};
  }

 private:
  static at::Tensor turned(const at::Tensor& x, const at::Tensor& given) {
    const auto positions = counts_itself ? positions_along(x, 2) : given;
    const auto angle = (positions.dim() == 2 ? positions.unsqueeze(1) : positions).unsqueeze(-1).to(x.scalar_type());
    const auto halves = x.chunk(2, -1);
    return at::cat(
        {halves[0] * angle.cos() - halves[1] * angle.sin(), halves[1] * angle.cos() + halves[0] * angle.sin()}, -1);
  }
};

}  // namespace headwright::testing

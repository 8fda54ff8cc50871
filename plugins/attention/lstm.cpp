// Long short-term memory, the baseline that attention replaced: a cell that gates what it takes, keeps and shows.
//
//   i, f, g, o = W_ih x_t + b_ih + W_hh h_{t-1} + b_hh,   c_0 = h_0 = 0
//   c_t = sigmoid(f) c_{t-1} + sigmoid(i) tanh(g),   h_t = sigmoid(o) tanh(c_t),   y_t = h_t
//
// A hidden token leaves the state as it is. Tensors have the names, shapes and order of gates of torch.nn.LSTMCell.
// Source: Hochreiter and Schmidhuber 1997, Neural Computation 9(8); with the forget gate of Gers et al. 2000.
// Cost:   O(seq d_out (d_model + d_out)), one token after the other.
#include "headwright/plugin.h"

namespace {
using namespace headwright;

class Lstm final : public Attention {
 public:
  static constexpr auto kSummary = "long short-term memory with a forget gate, one layer";
  static constexpr auto kSource = "Hochreiter and Schmidhuber 1997, Long Short-Term Memory";

  struct Params {
    std::optional<std::int64_t> d_out;
    bool bias = true;

    static constexpr auto fields() {
      return std::tuple{
          field("d_out", &Params::d_out, "width of the state, which is the output; absent = d_model", at_least(1)),
          field("bias", &Params::bias, "if input and state each add a bias")};
    }
    std::int64_t width(const Dims& dims) const { return d_out.value_or(dims.d_model); }
  };

  static Claims claims(const Dims& dims, const Params& params) {
    return {.causal = true,
            .key_mask = true,
            .d_out = params.width(dims),
            .cost = "O(seq d_out (d_model + d_out))",
            .cache = true};
  }

  Lstm(const Dims& dims, const Params& params) : d_out_(params.width(dims)) {
    const auto bound = 1 / std::sqrt(static_cast<double>(d_out_));  // as torch.nn.LSTMCell draws them
    const auto add = [&](const char* name, at::IntArrayRef shape) {
      weights_.push_back(register_parameter(name, at::empty(shape).uniform_(-bound, bound)));
    };
    add("weight_ih", {4 * d_out_, dims.d_model});
    add("weight_hh", {4 * d_out_, d_out_});
    if (!params.bias) return;
    add("bias_ih", {4 * d_out_});
    add("bias_hh", {4 * d_out_});
  }

  /// "h", "c": state and cell (batch, d_out). They hold sequences of any length.
  Cache make_cache(std::int64_t batch, std::int64_t) const override {
    const auto zeros = [&] { return at::zeros({batch, d_out_}, weights_[0].options()); };
    return {.tensors = {{"h", zeros()}, {"c", zeros()}}, .length = at::zeros({}, at::kLong)};
  }

  at::Tensor forward(const Inputs& inputs) override {
    if (inputs.x.size(1) == 0) return at::linear(inputs.x, weights_[0].slice(0, 0, d_out_));  // no token, no state
    if (inputs.cache != nullptr) return go_on(inputs.x, key_mask_of_x("lstm", inputs), *inputs.cache);
    const auto& x = inputs.x;
    // Zeros by the batch's size, which a trace must not write down.
    const auto zeros = at::zeros_like(x.select(1, 0).slice(1, 0, 1)).expand({-1, d_out_});  // (batch, d_out)
    if (!inputs.key_mask.defined()) return run(x, {zeros, zeros}).first;
    // The visible tokens run alone, in their order; then each token takes the state of the last visible one.
    const auto order = inputs.key_mask.logical_not().to(at::kByte).argsort(/*stable=*/true, 1);  // visible ones first
    const auto states = run(x.gather(1, order.unsqueeze(-1).expand_as(x)), {zeros, zeros}).first;
    const auto last = (inputs.key_mask.cumsum(1) - 1).unsqueeze(-1);  // (batch, seq, 1); -1 = nothing visible so far
    return states.gather(1, last.clamp_min(0).expand_as(states)).masked_fill(last < 0, 0);  // (batch, seq, d_out)
  }

 private:
  struct State {
    at::Tensor h, c;  // (batch, d_out)
  };

  /// x: (batch, seq, d_model). Returns every h (batch, seq, d_out), and the last state.
  std::pair<at::Tensor, State> run(const at::Tensor& x, const State& state) const {
    const auto [all, h, c] = at::lstm(x, {state.h.unsqueeze(0), state.c.unsqueeze(0)}, weights_,
                                      /*has_biases=*/weights_.size() > 2, /*num_layers=*/1, /*dropout=*/0,
                                      /*train=*/at::GradMode::is_enabled(), /*bidirectional=*/false,
                                      /*batch_first=*/true);
    return {all, {h.squeeze(0), c.squeeze(0)}};
  }

  /// visible: of x's tokens, (batch, seq) bool, or undefined.
  at::Tensor go_on(const at::Tensor& x, const at::Tensor& visible, Cache& cache) const {
    const auto seq_len = x.size(1);
    auto &h = cache.at("h"), &c = cache.at("c");
    cache.length = cache.length + seq_len;
    if (!visible.defined()) {
      const auto [all, last] = run(x, {h, c});
      h = last.h;
      c = last.c;
      return all;
    }
    std::vector<at::Tensor> all;
    for (std::int64_t t = 0; t < seq_len; ++t) {
      const auto here = visible.slice(1, t, t + 1);  // (batch, 1)
      const auto next = run(x.slice(1, t, t + 1), {h, c}).second;
      h = at::where(here, next.h, h);
      c = at::where(here, next.c, c);
      all.push_back(h);
    }
    return at::stack(all, 1);  // (batch, seq, d_out)
  }

  const std::int64_t d_out_;
  std::vector<at::Tensor> weights_;  // weight_ih, weight_hh and, with a bias, bias_ih, bias_hh
};

}  // namespace

HEADWRIGHT_PLUGIN("lstm", Lstm);

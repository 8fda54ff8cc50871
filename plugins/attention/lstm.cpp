// Long short-term memory, the baseline that attention replaced: a cell that gates what it takes, keeps and shows.
//
//   i, f, g, o = W_ih x_t + b_ih + W_hh h_{t-1} + b_hh,   c_0 = h_0 = 0
//   c_t = sigmoid(f) c_{t-1} + sigmoid(i) tanh(g),   h_t = sigmoid(o) tanh(c_t),   y_t = h_t
//
// A hidden token leaves the state as it is; each document begins at 0. Tensors have the names, shapes and order of
// gates of torch.nn.LSTMCell. Source: Hochreiter and Schmidhuber 1997, Neural Computation 9(8); with the forget gate of
// Gers et al. 2000. Cost:   O(seq d_out (d_model + d_out)), one token after the other.
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
            .cache = true,
            .document_ids = true};
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
    if (inputs.cache != nullptr || inputs.document_ids.defined()) return go_on(inputs);
    const auto& x = inputs.x;
    const auto zeros = x.new_zeros({x.size(0), d_out_});
    if (!inputs.key_mask.defined()) return run(x, {zeros, zeros}).first;
    // The visible tokens run alone, in their order; then each token takes the state of the last visible one.
    const auto order = inputs.key_mask.logical_not().to(at::kByte).argsort(/*stable=*/true, 1);  // visible ones first
    const auto states = run(x.gather(1, order.unsqueeze(-1).expand_as(x)), {zeros, zeros}).first;
    const auto last = (inputs.key_mask.cumsum(1) - 1).unsqueeze(-1);  // (batch, seq, 1); -1 = nothing visible so far
    return states.gather(1, last.clamp_min(0).expand_as(states)).masked_fill(last < 0, 0);  // (batch, seq, d_out)
  }

  std::string torchscript() const override;

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

  /// From the cache, or from 0, and from 0 where a document begins: piece by piece, between the tokens that begin one
  /// in any sequence.
  at::Tensor go_on(const Inputs& inputs) const {
    const auto& x = inputs.x;
    const auto zeros = x.new_zeros({x.size(0), d_out_});
    auto* cache = inputs.cache;
    State state = cache != nullptr ? State{cache->at("h"), cache->at("c")} : State{zeros, zeros};
    const auto visible = key_mask_of_x("lstm", inputs);
    std::vector<at::Tensor> all;
    for (const auto& piece : document_pieces("lstm", inputs)) {
      if (piece.first.defined()) state = {state.h.masked_fill(piece.first, 0), state.c.masked_fill(piece.first, 0)};
      const auto part = [&](const at::Tensor& whole) { return whole.slice(1, piece.begin, piece.end); };
      all.push_back(along(part(x), visible.defined() ? part(visible) : visible, state));
    }
    if (cache != nullptr) {
      cache->at("h") = std::move(state.h);
      cache->at("c") = std::move(state.c);
      cache->length = cache->length + x.size(1);
    }
    return all.size() == 1 ? all[0] : at::cat(all, 1);  // (batch, seq, d_out)
  }

  /// visible: of x's tokens, (batch, seq) bool, or undefined. state: afterwards the last one.
  at::Tensor along(const at::Tensor& x, const at::Tensor& visible, State& state) const {
    if (!visible.defined()) {
      const auto [all, last] = run(x, state);
      state = last;
      return all;
    }
    std::vector<at::Tensor> all;
    for (std::int64_t t = 0; t < x.size(1); ++t) {
      const auto here = visible.slice(1, t, t + 1);  // (batch, 1)
      const auto next = run(x.slice(1, t, t + 1), state).second;
      state = {at::where(here, next.h, state.h), at::where(here, next.c, state.c)};
      all.push_back(state.h);
    }
    return at::stack(all, 1);  // (batch, seq, d_out)
  }

  const std::int64_t d_out_;
  std::vector<at::Tensor> weights_;  // weight_ih, weight_hh and, with a bias, bias_ih, bias_hh
};

// In one go without document ids, else token by token: no length is written down.
constexpr auto kForward =
    R"(def forward(self, x, key_mask: Optional[Tensor] = None, document_ids: Optional[Tensor] = None):
    h = torch.zeros([x.size(0), $d_out], dtype=x.dtype, device=x.device)
    c = h
    if x.size(0) == 0 or x.size(1) == 0:
        return h.unsqueeze(1).expand([-1, x.size(1), -1])
    weights = [$weights]
    if document_ids is None:
        if key_mask is None:
            return torch.lstm(x, [h.unsqueeze(0), c.unsqueeze(0)], weights, $biases, 1, 0., False, False, True)[0]
        order = torch.argsort(torch.logical_not(key_mask).to(0), stable=True, dim=1)
        ordered = torch.gather(x, 1, order.unsqueeze(-1).expand_as(x))
        states = torch.lstm(ordered, [h.unsqueeze(0), c.unsqueeze(0)], weights, $biases, 1, 0., False, False, True)[0]
        last = (torch.cumsum(key_mask, 1) - 1).unsqueeze(-1)
        return torch.masked_fill(torch.gather(states, 1, torch.clamp_min(last, 0).expand_as(states)), last < 0, 0)
    all: List[Tensor] = []
    for t in range(x.size(1)):
        if t > 0:
            begins = torch.ne(document_ids[:, t], document_ids[:, t - 1]).unsqueeze(-1)
            h = torch.masked_fill(h, begins, 0)
            c = torch.masked_fill(c, begins, 0)
        next = torch.lstm(x[:, t : t + 1], [h.unsqueeze(0), c.unsqueeze(0)], weights, $biases, 1, 0., False, False, True)
        new_h = next[1].squeeze(0)
        new_c = next[2].squeeze(0)
        if key_mask is not None:
            new_h = torch.where(key_mask[:, t].unsqueeze(-1), new_h, h)
            new_c = torch.where(key_mask[:, t].unsqueeze(-1), new_c, c)
        h = new_h
        c = new_c
        all.append(h)
    return torch.stack(all, 1)
)";

std::string Lstm::torchscript() const {
  const bool biases = weights_.size() > 2;
  return filled_in(kForward, {{"$d_out", std::to_string(d_out_)},
                              {"$weights", std::string("self.weight_ih, self.weight_hh") +
                                               (biases ? ", self.bias_ih, self.bias_hh" : "")},
                              {"$biases", biases ? "True" : "False"}});
}

}  // namespace

HEADWRIGHT_PLUGIN("lstm", Lstm);

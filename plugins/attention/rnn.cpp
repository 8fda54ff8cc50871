// The recurrent network of Elman, the baseline that attention replaced: one state, rewritten by each token.
//
//   h_t = tanh(W_ih x_t + b_ih + W_hh h_{t-1} + b_hh),   y_t = h_t,   h_0 = 0
//
// A hidden token leaves the state as it is; each document begins at 0. Tensors have the names and shapes of
// torch.nn.RNNCell. Source: Elman 1990, "Finding Structure in Time", Cognitive Science 14(2). Cost:   O(seq d_out
// (d_model + d_out)), one token after the other.
#include "headwright/plugin.h"

namespace {
using namespace headwright;

class Rnn final : public Attention {
 public:
  static constexpr auto kSummary = "Elman's recurrent network with tanh, one layer";
  static constexpr auto kSource = "Elman 1990, Finding Structure in Time";

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

  Rnn(const Dims& dims, const Params& params) : d_out_(params.width(dims)) {
    const auto bound = 1 / std::sqrt(static_cast<double>(d_out_));  // as torch.nn.RNNCell draws them
    const auto add = [&](const char* name, at::IntArrayRef shape) {
      weights_.push_back(register_parameter(name, at::empty(shape).uniform_(-bound, bound)));
    };
    add("weight_ih", {d_out_, dims.d_model});
    add("weight_hh", {d_out_, d_out_});
    if (!params.bias) return;
    add("bias_ih", {d_out_});
    add("bias_hh", {d_out_});
  }

  /// "h": the state (batch, d_out). It holds sequences of any length.
  Cache make_cache(std::int64_t batch, std::int64_t) const override {
    return {.tensors = {{"h", at::zeros({batch, d_out_}, weights_[0].options())}}, .length = at::zeros({}, at::kLong)};
  }

  at::Tensor forward(const Inputs& inputs) override {
    if (inputs.x.size(1) == 0) return at::linear(inputs.x, weights_[0].slice(0, 0, d_out_));  // no token, no state
    if (inputs.cache != nullptr || inputs.document_ids.defined()) return go_on(inputs);
    const auto& x = inputs.x;
    const auto h0 = x.new_zeros({x.size(0), d_out_});
    if (!inputs.key_mask.defined()) return run(x, h0).first;
    // The visible tokens run alone, in their order; then each token takes the state of the last visible one.
    const auto order = inputs.key_mask.logical_not().to(at::kByte).argsort(/*stable=*/true, 1);  // visible ones first
    const auto states = run(x.gather(1, order.unsqueeze(-1).expand_as(x)), h0).first;
    const auto last = (inputs.key_mask.cumsum(1) - 1).unsqueeze(-1);  // (batch, seq, 1); -1 = nothing visible so far
    return states.gather(1, last.clamp_min(0).expand_as(states)).masked_fill(last < 0, 0);  // (batch, seq, d_out)
  }

  std::string torchscript() const override;

 private:
  /// x: (batch, seq, d_model), h: (batch, d_out). Returns the states (batch, seq, d_out), and the last one.
  std::pair<at::Tensor, at::Tensor> run(const at::Tensor& x, const at::Tensor& h) const {
    const auto [states, last] = at::rnn_tanh(x, h.unsqueeze(0), weights_, /*has_biases=*/weights_.size() > 2,
                                             /*num_layers=*/1, /*dropout=*/0, /*train=*/at::GradMode::is_enabled(),
                                             /*bidirectional=*/false, /*batch_first=*/true);
    return {states, last.squeeze(0)};
  }

  /// From the cache, or from 0, and from 0 where a document begins: piece by piece, between the tokens that begin one
  /// in any sequence.
  at::Tensor go_on(const Inputs& inputs) const {
    const auto& x = inputs.x;
    auto h = inputs.cache != nullptr ? inputs.cache->at("h") : x.new_zeros({x.size(0), d_out_});
    const auto visible = key_mask_of_x("rnn", inputs);
    std::vector<at::Tensor> states;
    for (const auto& piece : document_pieces("rnn", inputs)) {
      if (piece.first.defined()) h = h.masked_fill(piece.first, 0);
      const auto part = [&](const at::Tensor& all) { return all.slice(1, piece.begin, piece.end); };
      states.push_back(along(part(x), visible.defined() ? part(visible) : visible, h));
    }
    if (inputs.cache != nullptr) {
      inputs.cache->at("h") = std::move(h);
      inputs.cache->length = inputs.cache->length + x.size(1);
    }
    return states.size() == 1 ? states[0] : at::cat(states, 1);  // (batch, seq, d_out)
  }

  /// visible: of x's tokens, (batch, seq) bool, or undefined. h: (batch, d_out), afterwards the last one.
  at::Tensor along(const at::Tensor& x, const at::Tensor& visible, at::Tensor& h) const {
    if (!visible.defined()) {
      const auto [states, last] = run(x, h);
      h = last;
      return states;
    }
    std::vector<at::Tensor> states;
    for (std::int64_t t = 0; t < x.size(1); ++t) {
      h = at::where(visible.slice(1, t, t + 1), run(x.slice(1, t, t + 1), h).second, h);
      states.push_back(h);
    }
    return at::stack(states, 1);  // (batch, seq, d_out)
  }

  const std::int64_t d_out_;
  std::vector<at::Tensor> weights_;  // weight_ih, weight_hh and, with a bias, bias_ih, bias_hh
};

// In one go without document ids, else token by token: no length is written down.
constexpr auto kForward =
    R"(def forward(self, x, key_mask: Optional[Tensor] = None, document_ids: Optional[Tensor] = None):
    h = torch.zeros([x.size(0), $d_out], dtype=x.dtype, device=x.device)
    if x.size(0) == 0 or x.size(1) == 0:
        return h.unsqueeze(1).expand([-1, x.size(1), -1])
    weights = [$weights]
    if document_ids is None:
        if key_mask is None:
            return torch.rnn_tanh(x, h.unsqueeze(0), weights, $biases, 1, 0., False, False, True)[0]
        order = torch.argsort(torch.logical_not(key_mask).to(0), stable=True, dim=1)
        ordered = torch.gather(x, 1, order.unsqueeze(-1).expand_as(x))
        states = torch.rnn_tanh(ordered, h.unsqueeze(0), weights, $biases, 1, 0., False, False, True)[0]
        last = (torch.cumsum(key_mask, 1) - 1).unsqueeze(-1)
        return torch.masked_fill(torch.gather(states, 1, torch.clamp_min(last, 0).expand_as(states)), last < 0, 0)
    all: List[Tensor] = []
    for t in range(x.size(1)):
        if t > 0:
            begins = torch.ne(document_ids[:, t], document_ids[:, t - 1]).unsqueeze(-1)
            h = torch.masked_fill(h, begins, 0)
        next = torch.rnn_tanh(x[:, t : t + 1], h.unsqueeze(0), weights, $biases, 1, 0., False, False, True)
        new = next[1].squeeze(0)
        h = new if key_mask is None else torch.where(key_mask[:, t].unsqueeze(-1), new, h)
        all.append(h)
    return torch.stack(all, 1)
)";

std::string Rnn::torchscript() const {
  const bool biases = weights_.size() > 2;
  return filled_in(kForward, {{"$d_out", std::to_string(d_out_)},
                              {"$weights", std::string("self.weight_ih, self.weight_hh") +
                                               (biases ? ", self.bias_ih, self.bias_hh" : "")},
                              {"$biases", biases ? "True" : "False"}});
}

}  // namespace

HEADWRIGHT_PLUGIN("rnn", Rnn);

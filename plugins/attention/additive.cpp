// Additive attention: a small network compares a query with a key, where others multiply them.
//
//   y_i = sum_j softmax_j(w . tanh(W_q x_i + W_k x_j)) v_j   for each head, over the keys that the mask shows to i
//
// Source: Bahdanau et al. 2014, arXiv:1409.0473, section 3.1 and appendix A.1.2.
// Cost:   O(seq^2 d_model), and a tanh for each of these.
#include <torch/csrc/autograd/custom_function.h>
#include <torch/csrc/jit/frontend/tracer.h>

#include "headwright/plugin.h"

namespace {

using namespace headwright;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// The number of rows as a tensor that a trace keeps dynamic: ().
at::Tensor length_of(const at::Tensor& x) { return at::ones_like(positions_along(x, 2)).sum(); }

/// (batch, n_kv_heads, keys, d) -> (batch, n_heads, keys, d): each key head stands for a group of queries' heads.
at::Tensor for_each_query_head(const at::Tensor& k, std::int64_t group) {
  return group == 1 ? k : k.unsqueeze(2).expand({-1, -1, group, -1, -1}).flatten(1, 2);
}

/// w . tanh(q_i + k_j), channel by channel, so that no step holds more than one number for each pair.
class Comparison : public torch::autograd::Function<Comparison> {
 public:
  /// q: (batch, n_heads, q_len, d); k: (batch, n_heads, k_len, d); w: (n_heads, d) -> (batch, n_heads, q_len, k_len)
  static at::Tensor forward(AutogradContext* context, const at::Tensor& q, const at::Tensor& k, const at::Tensor& w) {
    context->save_for_backward({q, k, w});
    auto scores = at::zeros({q.size(0), q.size(1), q.size(2), k.size(2)}, q.options());
    for (std::int64_t c = 0; c < q.size(3); ++c) scores.addcmul_(compared(q, k, c), of_heads(w, c));
    return scores;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto saved = context->get_saved_variables();
    const auto &q = saved[0], &k = saved[1], &w = saved[2], &of_scores = gradients[0];
    std::vector<at::Tensor> dq, dk, dw;  // of each channel
    for (std::int64_t c = 0; c < q.size(3); ++c) {
      const auto t = compared(q, k, c);
      dw.push_back((of_scores * t).sum(c10::IntArrayRef{0, 2, 3}));
      const auto of_sum = of_scores * (1 - t.square()) * of_heads(w, c);
      dq.push_back(of_sum.sum(3));
      dk.push_back(of_sum.sum(2));
    }
    return {at::stack(dq, -1), at::stack(dk, -1), at::stack(dw, -1)};
  }

 private:
  static at::Tensor compared(const at::Tensor& q, const at::Tensor& k, std::int64_t channel) {
    return (q.select(3, channel).unsqueeze(3) + k.select(3, channel).unsqueeze(2)).tanh();
  }
  static at::Tensor of_heads(const at::Tensor& w, std::int64_t channel) {
    return w.select(1, channel).view({-1, 1, 1});
  }
};

at::Tensor comparison(const at::Tensor& q, const at::Tensor& k, const at::Tensor& w) {
  if (!torch::jit::tracer::isTracing()) return Comparison::apply(q, k, w);
  const auto hidden = (q.unsqueeze(3) + k.unsqueeze(2)).tanh();  // (.., q_len, k_len, d): one step in an export
  return at::einsum("bhijd,hd->bhij", {hidden, w}).contiguous();
}

class Additive final : public QkvAttention {
 public:
  static constexpr auto kSummary = "Bahdanau's attention: scores from a tanh of query plus key";
  static constexpr auto kSource = "arXiv:1409.0473, section 3.1";

  struct Params : ScoreOptions {
    static constexpr auto fields() {
      return std::tuple{
          kMaskRow,
          kDropoutRow,
          field("qkv_bias", &Params::qkv_bias, "if the projections of q, k and v add a bias"),
          field("out_bias", &Params::out_bias, "if the output projection adds a bias"),
          field("cross", &Params::cross, "if keys and values come from the memory"),
      };
    }
  };

  static Claims claims(const Dims& dims, const Params& params) { return score_claims(dims, params); }

  static void check(const Dims& dims, const Params& params, Issues& issues) { check_scores(dims, params, issues); }

  Additive(const Dims& dims, const Params& params) : QkvAttention(dims, params), params_(params) {
    const double bound = 1 / std::sqrt(static_cast<double>(dims_.d_head));
    score_weight_ =
        register_parameter("score_weight", at::empty({dims_.n_heads, dims_.d_head}).uniform_(-bound, bound));
  }

  KernelChoice kernel() const override {
    auto scoring = this->scoring({}, params_);
    scoring.modifiers.push_back(
        modifier("additive", [](const at::Tensor& scores, const ScorePositions&) { return scores; }));
    return choose_kernel(scoring);
  }

  Mask mask() const override { return params_.mask; }

 protected:
  at::Tensor mix(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const Inputs& inputs) override {
    auto scoring = this->scoring(inputs, params_);
    scoring.modifiers.push_back(scores_of(q, k));
    // The core's own product of q and k is not used, so it gets one channel of each.
    const auto q1 = q.slice(-1, 0, 1), k1 = k.slice(-1, 0, 1);
    return attend(inputs, q1, k1, v, scoring).y;  // (batch, n_heads, seq, d_head)
  }

 private:
  /// Puts additive scores in the place of the core's, for the queries and keys that it asks for.
  ScoreModifier scores_of(const at::Tensor& q, const at::Tensor& k) const {
    const auto keys = for_each_query_head(k, dims_.n_heads / dims_.n_kv_heads);
    const auto first = length_of(k) - length_of(q);  // where the first query stands: aligned to the end of the keys
    const auto weight = score_weight_;
    return modifier("additive",
                    [q, keys, first, weight](const at::Tensor& scores, const ScorePositions& place) {
                      const auto some_q = q.index_select(2, place.q_positions.squeeze(-1) - first).to(scores.dtype());
                      const auto some_k = keys.index_select(2, place.k_positions.squeeze(0)).to(scores.dtype());
                      return comparison(some_q, some_k, weight.to(scores.dtype()));
                    },
                    {q, keys, weight});
  }

  const Params params_;
  at::Tensor score_weight_;  // (n_heads, d_head)
};

}  // namespace

HEADWRIGHT_PLUGIN("additive", Additive);

// Additive attention: a small network compares a query with a key, where others multiply them.
//
//   y_i = sum_j softmax_j(w . tanh(W_q x_i + W_k x_j)) v_j   for each head, over the keys that the mask shows to i
//
// Source: Bahdanau et al. 2014, arXiv:1409.0473, section 3.1 and appendix A.1.2.
// Cost:   O(seq^2 d_model), and a tanh for each of these.
#include "headwright/plugin.h"

namespace {

using namespace headwright;

/// The number of rows as a tensor that a trace keeps dynamic: ().
at::Tensor length_of(const at::Tensor& x) { return at::ones_like(positions_along(x, 2)).sum(); }

/// (batch, n_kv_heads, keys, d) -> (batch, n_heads, keys, d): each key head stands for a group of queries' heads.
at::Tensor for_each_query_head(const at::Tensor& k, std::int64_t group) {
  return group == 1 ? k : k.unsqueeze(2).expand({-1, -1, group, -1, -1}).flatten(1, 2);
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
          field("cross", &Params::cross, "if keys and values come from the context"),
      };
    }
  };

  static Claims claims(const Dims&, const Params& params) { return score_claims(params); }

  static void check(const Dims& dims, const Params& params, Complaints& complaints) {
    check_scores(dims, params, complaints);
  }

  Additive(const Dims& dims, const Params& params) : QkvAttention(dims, params), params_(params) {
    const double bound = 1 / std::sqrt(static_cast<double>(dims_.d_head));
    score_weight_ =
        register_parameter("score_weight", at::empty({dims_.n_heads, dims_.d_head}).uniform_(-bound, bound));
  }

  KernelChoice kernel() const override {
    auto scoring = this->scoring({}, params_);
    scoring.modifiers.push_back(
        modifier("additive", [](const at::Tensor& scores, const ScorePlace&) { return scores; }));
    return choose_kernel(scoring);
  }

 protected:
  at::Tensor mix(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const Inputs& inputs) override {
    auto scoring = this->scoring(inputs, params_);
    scoring.modifiers.push_back(scores_of(q, k));
    // The core's own product of q and k is not used, so it gets one channel of each.
    const auto q1 = q.slice(-1, 0, 1), k1 = k.slice(-1, 0, 1);
    const auto attended = attend(q1, k1, v, scoring);
    note_weights(inputs, q1, k1, scoring);
    return attended.y;  // (batch, n_heads, seq, d_head)
  }

 private:
  /// Puts additive scores in the place of the core's, for the queries and keys that it asks for.
  ScoreModifier scores_of(const at::Tensor& q, const at::Tensor& k) const {
    const auto keys = for_each_query_head(k, dims_.n_heads / dims_.n_kv_heads);
    const auto first = length_of(k) - length_of(q);  // where the first query stands: aligned to the end of the keys
    const auto weight = score_weight_;
    return modifier("additive",
                    [q, keys, first, weight](const at::Tensor& scores, const ScorePlace& place) {
                      const auto some_q = q.index_select(2, place.q_positions.squeeze(-1) - first).to(scores.dtype());
                      const auto some_k = keys.index_select(2, place.k_positions.squeeze(0)).to(scores.dtype());
                      const auto hidden =
                          (some_q.unsqueeze(3) + some_k.unsqueeze(2)).tanh();  // (.., q_len, k_len, d_head)
                      return at::einsum("bhijd,hd->bhij", {hidden, weight.to(scores.dtype())}).contiguous();
                    },
                    {q, keys, weight});
  }

  const Params params_;
  at::Tensor score_weight_;  // (n_heads, d_head)
};

}  // namespace

HEADWRIGHT_PLUGIN("additive", Additive);

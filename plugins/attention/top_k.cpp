// Top-k attention: a query attends to the keys with its k largest scores alone.
//
//   y_i = sum_j softmax_j(scale q_i . k_j) v_j   over the n_keys largest scores among the keys that the mask shows to i
//
// Of equal scores the earlier key is kept; a query that sees no more than n_keys attends to all of them.
// Source: Gupta et al. 2021, arXiv:2106.06899, section 3.
// Cost:   O(seq^2 (d_model + n_heads log seq)), with all scores in memory.
#include <torch/csrc/jit/frontend/tracer.h>

#include <limits>

#include "headwright/plugin.h"

namespace {

class TopK final : public headwright::QkvAttention {
 public:
  static constexpr auto kSummary = "softmax over the largest scores of each query alone";
  static constexpr auto kSource = "arXiv:2106.06899, section 3";

  struct Params : headwright::QkvOptions {
    std::int64_t n_keys = 0;
    headwright::Mask mask;
    std::vector<headwright::ScoreModifier> modifiers;
    std::optional<double> scale;
    double dropout = 0;

    static constexpr auto fields() {
      using headwright::field;
      return std::tuple_cat(
          std::tuple{
              field("n_keys", &Params::n_keys, "keys that a query attends to",
                    headwright::required() | headwright::at_least(1)),
              field("mask", &Params::mask, "which keys a query sees"),
              field("modifiers", &Params::modifiers, "changes to the scores before the mask, in their order"),
              field("scale", &Params::scale, "factor on q . k; absent = 1 / sqrt(d_head)", headwright::positive()),
              field("dropout", &Params::dropout, "probability of dropping a weight in training",
                    headwright::probability()),
          },
          headwright::qkv_fields());
    }
  };

  static headwright::Claims claims(const headwright::Dims&, const Params& params) {
    return {.causal = params.mask.hides_future() && !params.cross,
            .context = params.cross,
            .key_mask = true,
            .cost = "O(seq^2 (d_model + n_heads log seq))",
            .cache = params.mask.hides_future() && !params.cross && !params.mask.reads_length(),
            .document_ids = params.mask.reads_documents()};
  }

  static void check(const headwright::Dims& dims, const Params& params, headwright::Complaints& complaints) {
    check_options(dims, params, complaints);
    if (params.scale && params.qk_norm == "l2") {
      complaints.add("scale", "has no place beside qk_norm: l2, which learns a scale for each head");
    }
    if (params.cross && params.mask.reads_documents()) {
      complaints.add("mask", "got document, but a context has no document ids");
    }
  }

  TopK(const headwright::Dims& dims, const Params& params) : QkvAttention(dims, params), params_(params) {}

 protected:
  at::Tensor mix(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                 const headwright::Inputs& inputs) override {
    auto scoring = this->scoring(inputs);
    scoring.mask = params_.mask;
    const auto scale = params_.scale.value_or(scoring.scale.value_or(1 / std::sqrt(static_cast<double>(dims_.d_head))));
    auto scores = grouped_matmul(wide(q) * scale, wide(k).transpose(-2, -1));  // (batch, n_heads, seq, keys)
    const auto place = place_of(q, k, scoring);
    for (const auto& modifier : scoring.modifiers) scores = modifier.apply(scores, place);
    for (const auto& modifier : params_.modifiers) scores = modifier.apply(scores, place);
    auto weights = headwright::masked_softmax(scores, kept(scores, visible_keys(q, k, scoring)));
    note(inputs, "weights", "share of each key in a token's output, 0 for all but n_keys",
         [&] { return weights.to(q.scalar_type()); });
    if (is_training() && params_.dropout > 0) weights = at::dropout(weights, params_.dropout, true);
    return grouped_matmul(weights, wide(v)).to(v.scalar_type());  // (batch, n_heads, seq, d_head)
  }

 private:
  /// Half types would tie scores that differ.
  static at::Tensor wide(const at::Tensor& x) {
    return at::isReducedFloatingType(x.scalar_type()) ? x.to(at::kFloat) : x;
  }

  /// a (batch, n_heads, n, m) by b (batch, n_kv_heads, m, d): a group of a's heads shares each head of b.
  at::Tensor grouped_matmul(const at::Tensor& a, const at::Tensor& b) const {
    if (dims_.n_heads == dims_.n_kv_heads) return a.matmul(b);
    return a.unflatten(1, {dims_.n_kv_heads, dims_.n_heads / dims_.n_kv_heads}).matmul(b.unsqueeze(2)).flatten(1, 2);
  }

  /// Where the scores stand: the last query at the last key, unless the inputs say where.
  static headwright::ScorePlace place_of(const at::Tensor& q, const at::Tensor& k, const headwright::Scoring& scoring) {
    auto queries = scoring.q_positions, keys = scoring.k_positions;
    if (!queries.defined()) {
      keys = headwright::positions_along(k, 2);
      const auto before_end = headwright::positions_along(q, 2).flip(0) + 1;
      queries = at::ones_like(keys).sum(0, true) - before_end;
    }
    const auto each_head = [](const at::Tensor& x) { return x.dim() == 1 ? x : x.unsqueeze(1); };
    return {each_head(queries).unsqueeze(-1), each_head(keys).unsqueeze(-2)};
  }

  /// Bool (batch, 1, seq, keys); undefined = everything is visible. The core is asked: weights of equal scores are
  /// above zero exactly where a key is visible.
  static at::Tensor visible_keys(const at::Tensor& q, const at::Tensor& k, headwright::Scoring scoring) {
    if (scoring.mask.sees_everything() && !scoring.key_mask.defined()) return {};
    scoring.modifiers.clear();
    scoring.q_positions.reset();
    scoring.k_positions.reset();
    scoring.scale = 1;
    scoring.kernel = "reference";
    const auto equal = [](const at::Tensor& x) { return at::zeros_like(x.slice(1, 0, 1).slice(3, 0, 1)); };
    const auto queries = equal(wide(q)), keys = equal(wide(k));  // (batch, 1, length, 1)
    if (!torch::jit::tracer::isTracing()) return headwright::attention_weights(queries, keys, scoring) > 0;
    // attention_weights() takes blocks of rows, whose number a trace would keep; values that are 1 at one key each
    // bring the weights out of attend() as well.
    const auto places = headwright::positions_along(k, 2);
    const auto one_each = places.unsqueeze(0).eq(places.unsqueeze(1)).to(keys.scalar_type()) + keys;
    return headwright::attend(queries, keys, one_each, scoring).y > 0;
  }

  /// The n_keys largest of each row among the visible.
  at::Tensor kept(const at::Tensor& scores, const at::Tensor& visible) const {
    auto ranked = scores.detach();
    if (visible.defined()) ranked = ranked.masked_fill(visible.logical_not(), -std::numeric_limits<double>::infinity());
    const auto order = std::get<1>(ranked.sort(/*stable=*/true, -1, /*descending=*/true));
    const auto largest = at::zeros_like(ranked, at::kBool).scatter(-1, order.slice(-1, 0, params_.n_keys), 1);
    return visible.defined() ? largest.logical_and(visible) : largest;  // (batch, n_heads, seq, keys)
  }

  const Params params_;
};

}  // namespace

HEADWRIGHT_PLUGIN("top_k", TopK);

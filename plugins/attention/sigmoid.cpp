// Sigmoid attention: each weight is a sigmoid of its own score, so that keys do not compete and a row need not sum
// to 1.
//
//   y_i = sum_j sigmoid(scale q_i . k_j + b) v_j   over the keys j that the mask shows to i
//
// With b = -log(number of keys) a row of scores near 0 sums to about 1. That counts the keys which the key mask shows,
// also those that the mask hides, but of other documents; a layer that goes on token by token needs a fixed b.
//
// Source: Ramapuram et al. 2024, arXiv:2409.04431, section 3.
// Cost:   O(seq^2 d_model).
#include "headwright/plugin.h"

namespace {

class Sigmoid final : public headwright::QkvAttention {
 public:
  static constexpr auto kSummary = "each weight a sigmoid of its own score";
  static constexpr auto kSource = "arXiv:2409.04431, section 3";

  struct Params : headwright::ScoreOptions {
    std::optional<double> sigmoid_bias;

    static constexpr auto fields() {
      return std::tuple_cat(
          std::tuple{
              headwright::kMaskRow,
              headwright::kModifiersRow,
              headwright::kBiasOrderRow,
              headwright::kScaleRow,
              headwright::field("sigmoid_bias", &Params::sigmoid_bias,
                                "added to every score; absent = -log(keys that the key mask shows)"),
              headwright::kDropoutRow,
          },
          headwright::qkv_fields());
    }
  };

  static headwright::Claims claims(const headwright::Dims& dims, const Params& params) {
    auto claims = score_claims(dims, params);
    claims.cache &= params.sigmoid_bias.has_value();
    return claims;
  }

  static void check(const headwright::Dims& dims, const Params& params, headwright::Issues& issues) {
    check_scores(dims, params, issues);
  }

  Sigmoid(const headwright::Dims& dims, const Params& params) : QkvAttention(dims, params), params_(params) {}

  headwright::KernelChoice kernel() const override { return choose_kernel(scoring_of({})); }

  headwright::Mask mask() const override { return params_.mask; }

 protected:
  at::Tensor mix(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                 const headwright::Inputs& inputs) override {
    auto scoring = scoring_of(inputs);
    count_shown_keys(inputs, k, scoring);
    return attend(inputs, q, k, v, scoring).y;  // (batch, n_heads, seq, d_head)
  }

 private:
  headwright::Scoring scoring_of(const headwright::Inputs& inputs) const {
    auto scoring = this->scoring(inputs, params_);
    scoring.normaliser = headwright::Normaliser::sigmoid;
    scoring.sigmoid_bias = params_.sigmoid_bias;
    return scoring;
  }

  /// The core's own bias counts keys that the key mask hides, and those of other documents that the mask hides: what
  /// that takes off is given back.
  void count_shown_keys(const headwright::Inputs& inputs, const at::Tensor& k, headwright::Scoring& scoring) const {
    if (scoring.sigmoid_bias) return;
    const auto documents =
        params_.mask.reads_documents() ? headwright::document_numbers("sigmoid", inputs) : at::Tensor();
    if (!scoring.key_mask.defined() && !documents.defined()) return;
    if (documents.defined() && scoring.q_positions.defined()) {
      throw headwright::InputError("[sigmoid] positions: got them beside document ids; give sigmoid_bias, too");
    }
    const auto keys = headwright::positions_along(k, 2);
    const auto log_of = [&](const at::Tensor& count) {
      return count.clamp_min(1).to(keys.is_mps() ? at::kFloat : at::kDouble).log();
    };
    const auto counted = documents.defined() ? of_each_document(documents, scoring.key_mask)
                                             : scoring.key_mask.sum(-1, /*keepdim=*/true);  // (batch, keys or 1)
    const auto missing = (log_of(at::ones_like(keys).sum()) - log_of(counted)).unsqueeze(1).unsqueeze(1);
    const bool by_key = documents.defined();  // a query sees keys of its own document alone, which have its count
    scoring.modifiers.push_back(headwright::modifier(
        "sigmoid_bias", [missing, by_key](const at::Tensor& scores, const headwright::ScorePositions& place) {
          const auto here = by_key ? missing.index_select(-1, place.k_positions.flatten()) : missing;
          return scores + here.to(scores.scalar_type());
        }));
  }

  /// How many shown keys the document of each has: (batch, keys).
  static at::Tensor of_each_document(const at::Tensor& documents, const at::Tensor& key_mask) {
    const auto shown = key_mask.defined() ? key_mask.to(at::kLong) : at::ones_like(documents);
    return at::zeros_like(documents).scatter_add(1, documents, shown).gather(1, documents);
  }

  const Params params_;
};

}  // namespace

HEADWRIGHT_PLUGIN("sigmoid", Sigmoid);

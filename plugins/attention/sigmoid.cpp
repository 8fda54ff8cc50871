// Sigmoid attention: each weight is a sigmoid of its own score, so that keys do not compete and a row need not sum
// to 1.
//
//   y_i = sum_j sigmoid(scale q_i . k_j + b) v_j   over the keys j that the mask shows to i
//
// With b = -log(number of keys) a row of scores near 0 sums to about 1. That b depends on the length, also on padding
// and on keys that are hidden; a layer that goes on token by token needs a fixed one. Source: Ramapuram et al. 2024,
// arXiv:2409.04431, section 3. Cost:   O(seq^2 d_model).
#include <torch/csrc/jit/frontend/tracer.h>

#include "headwright/plugin.h"

namespace {

class Sigmoid final : public headwright::QkvAttention {
 public:
  static constexpr auto kSummary = "each weight a sigmoid of its own score";
  static constexpr auto kSource = "arXiv:2409.04431, section 3";

  struct Params : headwright::QkvOptions {
    headwright::Mask mask;
    std::vector<headwright::ScoreModifier> modifiers;
    std::optional<double> scale, sigmoid_bias;
    double dropout = 0;

    static constexpr auto fields() {
      using headwright::field;
      return std::tuple_cat(
          std::tuple{
              field("mask", &Params::mask, "which keys a query sees"),
              field("modifiers", &Params::modifiers, "changes to the scores before the mask, in their order"),
              field("scale", &Params::scale, "factor on q . k; absent = 1 / sqrt(d_head)", headwright::positive()),
              field("sigmoid_bias", &Params::sigmoid_bias,
                    "added to every score; absent = -log(keys that the key mask shows)"),
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
            .core = true,
            .cost = "O(seq^2 d_model)",
            .cache = params.mask.hides_future() && !params.cross && !params.mask.reads_length() &&
                     params.sigmoid_bias.has_value(),
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

  Sigmoid(const headwright::Dims& dims, const Params& params) : QkvAttention(dims, params), params_(params) {}

  headwright::KernelChoice kernel() const override { return choose_kernel(scoring_of({})); }

 protected:
  at::Tensor mix(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                 const headwright::Inputs& inputs) override {
    auto scoring = scoring_of(inputs);
    set_bias(scoring, k);
    headwright::note_weights(inputs, q, k, scoring);
    return attend(q, k, v, scoring).y;  // (batch, n_heads, seq, d_head)
  }

 private:
  headwright::Scoring scoring_of(const headwright::Inputs& inputs) const {
    auto scoring = this->scoring(inputs);
    scoring.normaliser = headwright::Normaliser::sigmoid;
    if (params_.scale) scoring.scale = params_.scale;
    scoring.mask = params_.mask;
    scoring.modifiers.insert(scoring.modifiers.end(), params_.modifiers.begin(), params_.modifiers.end());
    scoring.dropout = is_training() ? params_.dropout : 0;
    return scoring;
  }

  void set_bias(headwright::Scoring& scoring, const at::Tensor& k) const {
    const auto& fixed = params_.sigmoid_bias;
    if (fixed && !torch::jit::tracer::isTracing()) scoring.sigmoid_bias = fixed;
    if (scoring.sigmoid_bias || (!fixed && !scoring.key_mask.defined())) return;
    // The core counts keys that the key mask hides, too, and writes a given b into an export as a constant of a device.
    // So its own bias stays, and what is missing is added to the scores.
    const auto keys = headwright::positions_along(k, 2);
    const auto log_of = [&](const at::Tensor& count) {
      return count.clamp_min(1).to(keys.is_mps() ? at::kFloat : at::kDouble).log();
    };
    auto missing = log_of(at::ones_like(keys).sum());
    if (fixed) {
      missing = missing + *fixed;
    } else {
      const auto shown = log_of(scoring.key_mask.sum(-1));
      missing = missing - shown.unsqueeze(-1).unsqueeze(-1).unsqueeze(-1);  // (batch, 1, 1, 1)
    }
    scoring.modifiers.push_back(
        headwright::modifier("sigmoid_bias", [missing](const at::Tensor& scores, const headwright::ScorePlace&) {
          return scores + missing.to(scores.scalar_type());
        }));
  }

  const Params params_;
};

}  // namespace

HEADWRIGHT_PLUGIN("sigmoid", Sigmoid);

// Multiplicative attention: scores are products of the states themselves, or of one of them through a matrix.
//
//   y_i = sum_j softmax_j(score(x_i, h_j)) h_j,   score: x . h (dot), or x^T W h (general), not scaled
//
// h: the memory, or x itself. With several heads each works on its own share of the channels.
// Source: Luong et al. 2015, arXiv:1508.04025, section 3.1; the attentional vector: equation 5.
// Cost:   O(seq^2 d_model).
#include "headwright/plugin.h"

namespace {

using namespace headwright;

class Multiplicative final : public Attention {
 public:
  static constexpr auto kSummary = "Luong's attention: scores from products of states, by dot or through one matrix";
  static constexpr auto kSource = "arXiv:1508.04025, section 3.1";

  struct Params {
    std::string score = "general";
    Mask mask;
    bool attentional = false, cross = false;
    double dropout = 0;

    static constexpr auto fields() {
      return std::tuple{
          field("score", &Params::score, "dot: x . h; general: x^T W h", one_of("dot", "general")),
          field("mask", &Params::mask, "which keys a query sees"),
          field("attentional", &Params::attentional, "if y is tanh(W_c [y; x]), of width d_model"),
          field("dropout", &Params::dropout, "probability of dropping a weight in training", probability()),
          field("cross", &Params::cross, "if keys and values are the memory"),
      };
    }
  };

  static Claims claims(const Dims& dims, const Params& params) {
    return {.causal = params.mask.hides_future() && !params.cross,
            .memory = params.cross,
            .key_mask = true,
            .core = true,
            .d_out = params.attentional ? dims.d_model : d_source(dims, params),
            .cost = "O(seq^2 d_model)",
            .document_ids = params.mask.reads_documents(),
            .reads = {.n_heads = true, .d_memory = params.cross}};
  }

  static void check(const Dims& dims, const Params& params, Issues& issues) {
    const auto width = d_source(dims, params);
    const auto text = [](std::int64_t number) { return std::to_string(number); };
    if (params.score == "dot" && width != dims.d_model) {
      issues.add("score", "got dot, which needs a memory as wide as d_model = " + text(dims.d_model) +
                              ", not d_memory = " + text(width) + "; general takes both");
    }
    if (dims.n_heads < 1 || width % dims.n_heads != 0) {
      issues.add("n_heads",
                 "got " + text(dims.n_heads) + ", which does not divide the width of the keys, " + text(width));
    } else if (dims.d_head != 0 && dims.d_head != dims.d_model / dims.n_heads && dims.d_head != width / dims.n_heads) {
      issues.add("d_head", "has no place here: a head has its share of the channels, " + text(width / dims.n_heads));
    }
    if (dims.n_kv_heads != dims.n_heads) issues.add("n_kv_heads", "multiplicative has as many as n_heads");
    if (params.cross && params.mask.reads_documents()) {
      issues.add("mask", "got document, but a memory has no document ids");
    }
  }

  Multiplicative(const Dims& dims, const Params& params) : dims_(dims), params_(params) {
    const auto width = d_source(dims, params);
    const auto linear = [](std::int64_t in, std::int64_t out) {
      return torch::nn::Linear(torch::nn::LinearOptions(in, out).bias(false));
    };
    if (params.score == "general") score_ = register_module("score", linear(dims.d_model, width));
    if (params.attentional) combine_ = register_module("combine", linear(width + dims.d_model, dims.d_model));
  }

  Mask mask() const override { return params_.mask; }

  KernelChoice kernel() const override { return choose_kernel(scoring_of({})); }

  at::Tensor forward(const Inputs& inputs) override {
    if (params_.cross && !inputs.memory.defined()) {
      throw InputError("[multiplicative] memory: got nothing, expected the sequence that cross-attention reads");
    }
    const auto& source = params_.cross ? inputs.memory : inputs.x;
    const auto q = split_heads(score_.is_empty() ? inputs.x : score_(inputs.x), dims_.n_heads);
    const auto states = split_heads(source, dims_.n_heads);  // (batch, n_heads, keys, d_head)
    const auto scoring = scoring_of(inputs);
    const auto y = merge_heads(attend(inputs, q, states, states, scoring).y);  // (batch, seq, width of the source)
    return combine_.is_empty() ? y : combine_(at::cat({y, inputs.x}, -1)).tanh();
  }

 private:
  static std::int64_t d_source(const Dims& dims, const Params& params) {
    return params.cross && dims.d_memory != 0 ? dims.d_memory : dims.d_model;
  }

  Scoring scoring_of(const Inputs& inputs) const {
    auto scoring = scoring_of_run(inputs, dims_, params_.cross);
    scoring.scale = 1;
    scoring.mask = params_.mask;
    scoring.dropout = is_training() ? params_.dropout : 0;
    return scoring;
  }

  const Dims dims_;
  const Params params_;
  torch::nn::Linear score_{nullptr}, combine_{nullptr};
};

}  // namespace

HEADWRIGHT_PLUGIN("multiplicative", Multiplicative);

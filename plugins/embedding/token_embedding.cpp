// Token embedding: a trained vector for each token id, and what stands around it in published models.
//
//   y_i = W n(scale * table[token_i] + types[token_type_i] + position_i),   n: the norm; W: from d_embedding to d_model
//
// Each part but the table is absent unless it is asked for.
// Source: Vaswani et al. 2017, arXiv:1706.03762, section 3.4 (scale); Devlin et al. 2018, arXiv:1810.04805, section 3
//         (types, norm); Lan et al. 2019, arXiv:1909.11942, section 3.1 (d_embedding).
// Cost:   O(seq d_model), with a projection O(seq d_embedding d_model).
#include <cmath>

#include "headwright/plugin.h"

namespace {

using namespace headwright;

class TokenEmbedding final : public Embedding {
 public:
  static constexpr auto kSummary =
      "a trained vector for each token id, with positions, token types, norm and projection";
  static constexpr auto kSource = "arXiv:1706.03762, section 3.4";

  struct Params {
    std::optional<std::int64_t> vocab_size;
    bool tied = false;
    std::optional<std::int64_t> d_embedding;
    bool projection_bias = false;
    std::optional<std::variant<double, std::string>> scale;
    std::optional<std::int64_t> n_token_types;
    Component position;
    std::int64_t position_offset = 0;
    Component norm;
    double dropout = 0;

    static constexpr auto fields() {
      return std::tuple{
          field("vocab_size", &Params::vocab_size,
                "number of token ids; absent = that of the shared matrix, under tied", at_least(1)),
          field("tied", &Params::tied, "in an encoder: share the matrix of the model's own embedding"),
          field("d_embedding", &Params::d_embedding,
                "width of the vectors, which a projection brings to d_model; absent = d_model without a projection",
                at_least(1)),
          field("projection_bias", &Params::projection_bias,
                "add a bias to the projection from d_embedding to d_model"),
          field("scale", &Params::scale, "factor on the vectors of tokens; absent = 1",
                positive() | one_of("sqrt_d_model")),
          field("n_token_types", &Params::n_token_types,
                "kinds of tokens, such as first and second sentence, each with a vector that is added; absent = none",
                at_least(1)),
          field("position", &Params::position, "positions added to the vectors", component_of(Kind::position)),
          field("position_offset", &Params::position_offset,
                "added to each position; OPT and BART keep 2 for themselves", at_least(0)),
          field("norm", &Params::norm, "norm of the sum", component_of(Kind::norm)),
          field("dropout", &Params::dropout, "probability of dropping an element of the sum, in training",
                probability()),
      };
    }
  };

  static Claims claims(const Dims& dims, const Params& params) {
    return {.cost = "O(seq d_model)",
            .positions = static_cast<bool>(params.position),
            .vocab_size = params.tied ? dims.vocab_size : params.vocab_size.value_or(0),
            .n_token_types = params.n_token_types.value_or(0),
            .matrix = !params.d_embedding,
            .tied = params.tied};
  }

  static void check(const Dims& dims, const Params& params, Issues& issues) {
    if (!params.tied && !params.vocab_size) {
      issues.add("vocab_size", "missing, expected an integer of at least 1: number of token ids");
    } else if (params.tied && params.vocab_size) {
      issues.add("vocab_size", "has no place beside tied: true, which takes that of the model's own embedding");
    }
    if (params.tied && params.d_embedding) {
      issues.add("d_embedding", "has no place beside tied: true, whose matrix has width d_model");
    }
    if (params.projection_bias && !params.d_embedding) {
      issues.add("projection_bias", "has no effect without d_embedding, which brings the projection");
    }
    if (params.position_offset > 0 && !params.position) {
      issues.add("position_offset", "has no effect without a position");
    }
    check_embedded_position(params.position, widths(dims, params), issues);
    check_nested(params.norm, widths(dims, params), "norm", issues);
  }

  TokenEmbedding(const Dims& dims, const Params& params) : dims_(dims), inner_(widths(dims, params)), params_(params) {
    if (params.vocab_size) add_rest(torch::nn::EmbeddingOptions(*params.vocab_size, inner_.d_model));  // else see tie()
  }

  at::Tensor forward(const Inputs& in) override {
    auto y = token_(in.x);  // (batch, seq, d_embedding)
    if (params_.scale) y = y * factor(*params_.scale);
    if (types_) y = y + types_(in.token_types.defined() ? in.token_types : at::zeros_like(in.x));
    if (position_) y = position_->embed(y, positions_of(in) + params_.position_offset);
    if (norm_) y = norm_->forward(y);
    if (!params_.d_embedding) return at::dropout(y, params_.dropout, is_training());
    return projection_(at::dropout(y, params_.dropout, is_training()));  // (batch, seq, d_model)
  }

  at::Tensor matrix() const override { return token_->weight; }

  void tie(const at::Tensor& matrix) override {
    add_rest(torch::nn::EmbeddingOptions(matrix.size(0), matrix.size(1))._weight(matrix));
  }

 private:
  /// The sizes that the position and the norm are made for. A stored table also has places for the offset.
  static Dims widths(Dims dims, const Params& params) {
    dims.d_model = params.d_embedding.value_or(dims.d_model);
    if (dims.context_length > 0) dims.context_length += params.position_offset;
    return dims;
  }

  double factor(const std::variant<double, std::string>& scale) const {
    const auto* number = std::get_if<double>(&scale);
    return number != nullptr ? *number : std::sqrt(static_cast<double>(dims_.d_model));
  }

  void add_rest(const torch::nn::EmbeddingOptions& options) {
    token_ = register_module("token", torch::nn::Embedding(options));
    if (params_.n_token_types) {
      types_ = register_module("token_type", torch::nn::Embedding(*params_.n_token_types, inner_.d_model));
    }
    position_ = make_position(params_.position, inner_);
    if (position_) register_module("position", position_);
    norm_ = make_norm(params_.norm, inner_);
    if (norm_) register_module("norm", norm_);
    if (!params_.d_embedding) return;
    projection_ = register_module(
        "projection",
        torch::nn::Linear(torch::nn::LinearOptions(inner_.d_model, dims_.d_model).bias(params_.projection_bias)));
  }

  const Dims dims_, inner_;
  const Params params_;
  torch::nn::Embedding token_{nullptr}, types_{nullptr};
  std::shared_ptr<Position> position_;
  std::shared_ptr<Norm> norm_;
  torch::nn::Linear projection_{nullptr};
};

}  // namespace

HEADWRIGHT_PLUGIN("token_embedding", TokenEmbedding);

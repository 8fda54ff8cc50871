// Feature embedding: features of any width, projected to d_model, as sound, sensors and other models give them.
//
//   y_i = n(W x_i + b + position_i),   n: the norm
//
// Source: Gulati et al. 2020, arXiv:2005.08100, section 2 (a linear layer in front of the blocks).
// Cost:   O(seq d_in d_model).
#include "headwright/plugin.h"

namespace {

using namespace headwright;

class FeatureEmbedding final : public Embedding {
 public:
  static constexpr auto kSummary = "features of any width, projected to d_model, with positions and norm";
  static constexpr auto kSource = "arXiv:2005.08100, section 2";

  struct Params {
    std::int64_t d_in = 0;
    bool bias = true;
    Component position, norm;
    double dropout = 0;

    static constexpr auto fields() {
      return std::tuple{
          field("d_in", &Params::d_in, "width of the features that come in", required() | at_least(1)),
          field("bias", &Params::bias, "add a bias to the projection"),
          field("position", &Params::position, "positions added to the projected features",
                component_of(Kind::position)),
          field("norm", &Params::norm, "norm of the sum", component_of(Kind::norm)),
          field("dropout", &Params::dropout, "probability of dropping an element of the sum, in training",
                probability()),
      };
    }
  };

  static Claims claims(const Dims&, const Params& params) {
    return {.cost = "O(seq d_in d_model)",
            .positions = static_cast<bool>(params.position),
            .takes = Takes::features,
            .item_shape = {params.d_in}};
  }

  static void check(const Dims& dims, const Params& params, Issues& issues) {
    check_embedded_position(params.position, dims, issues);
    check_nested(params.norm, dims, "norm", issues);
  }

  FeatureEmbedding(const Dims& dims, const Params& params) : params_(params) {
    projection_ = register_module(
        "projection", torch::nn::Linear(torch::nn::LinearOptions(params.d_in, dims.d_model).bias(params.bias)));
    position_ = make_position(params.position, dims);
    if (position_) register_module("position", position_);
    norm_ = make_norm(params.norm, dims);
    if (norm_) register_module("norm", norm_);
  }

  at::Tensor forward(const Inputs& in) override {
    if (in.x.dim() != 3 || in.x.size(2) != params_.d_in) {
      refuse_shape("feature_embedding", "x", in.x, "(batch, length, d_in = " + std::to_string(params_.d_in) + ")");
    }
    auto y = projection_(in.x);  // (batch, seq, d_model)
    if (position_) y = position_->embed(y, positions_of(in));
    if (norm_) y = norm_->forward(y);
    return at::dropout(y, params_.dropout, is_training());
  }

 private:
  const Params params_;
  torch::nn::Linear projection_{nullptr};
  std::shared_ptr<Position> position_;
  std::shared_ptr<Norm> norm_;
};

}  // namespace

HEADWRIGHT_PLUGIN("feature_embedding", FeatureEmbedding);

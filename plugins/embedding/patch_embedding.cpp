// Patch embedding (ViT): an image cut into squares, each of them projected to a feature vector.
//
//   y = n([class; W patch_1 + b; W patch_2 + b; ...] + position),   n: the norm; class: one trained vector
//
// Patches stand row by row; positions count them, the class token first.
// Source: Dosovitskiy et al. 2020, arXiv:2010.11929, section 3.1.
// Cost:   O(patches patch_size^2 n_channels d_model).
#include <torch/nn/modules/conv.h>

#include "headwright/plugin.h"

namespace {

using namespace headwright;

class PatchEmbedding final : public Embedding {
 public:
  static constexpr auto kSummary = "square patches of an image, projected, with a class token";
  static constexpr auto kSource = "arXiv:2010.11929, section 3.1";

  struct Params {
    std::int64_t image_size = 0, patch_size = 0, n_channels = 3;
    bool class_token = true;
    bool bias = true;
    Component position, norm;
    double dropout = 0;

    static constexpr auto fields() {
      return std::tuple{
          field("image_size", &Params::image_size, "height and width of an image, in pixels", required() | at_least(1)),
          field("patch_size", &Params::patch_size, "height and width of a patch, in pixels; it divides image_size",
                required() | at_least(1)),
          field("n_channels", &Params::n_channels, "channels of an image", at_least(1)),
          field("class_token", &Params::class_token, "put one trained vector in front of the patches"),
          field("bias", &Params::bias, "add a bias to the projection of patches"),
          field("position", &Params::position, "positions added to the vectors", component_of(Kind::position)),
          field("norm", &Params::norm, "norm of the sum", component_of(Kind::norm)),
          field("dropout", &Params::dropout, "probability of dropping an element of the sum, in training",
                probability()),
      };
    }
  };

  static Claims claims(const Dims&, const Params& params) {
    return {.cost = "O(patches patch_size^2 n_channels d_model)",
            .takes = Takes::images,
            .item_shape = {params.n_channels, params.image_size, params.image_size}};
  }

  static void check(const Dims& dims, const Params& params, Issues& issues) {
    if (params.image_size % params.patch_size != 0) {
      issues.add("patch_size", "got " + std::to_string(params.patch_size) +
                                   ", which does not divide image_size = " + std::to_string(params.image_size));
    }
    check_embedded_position(params.position, inner(dims, params), issues);
    check_nested(params.norm, dims, "norm", issues);
  }

  PatchEmbedding(const Dims& dims, const Params& params) : params_(params) {
    if (params.class_token) class_token_ = register_parameter("class_token", at::zeros({1, 1, dims.d_model}));
    projection_ = register_module(
        "projection", torch::nn::Conv2d(torch::nn::Conv2dOptions(params.n_channels, dims.d_model, params.patch_size)
                                            .stride(params.patch_size)
                                            .bias(params.bias)));
    position_ = make_position(params.position, inner(dims, params));
    if (position_) register_module("position", position_);
    norm_ = make_norm(params.norm, dims);
    if (norm_) register_module("norm", norm_);
  }

  at::Tensor forward(const Inputs& in) override {
    expect_images(in.x);
    auto y = projection_(in.x).flatten(2).transpose(1, 2);  // (batch, patches, d_model)
    if (class_token_.defined()) {
      y = at::cat({class_token_ + at::zeros_like(y.slice(1, 0, 1)), y}, 1);  // (batch, 1 + patches, d_model)
    }
    if (position_) y = position_->embed(y, positions_along(y, 1));
    if (norm_) y = norm_->forward(y);
    return at::dropout(y, params_.dropout, is_training());
  }

 private:
  /// A stored table has a place for each patch and the class token.
  static Dims inner(Dims dims, const Params& params) {
    const auto side = params.image_size / params.patch_size;
    dims.context_length = side * side + (params.class_token ? 1 : 0);
    return dims;
  }

  void expect_images(const at::Tensor& x) const {
    const auto size = params_.image_size;
    if (x.dim() == 4 && x.size(1) == params_.n_channels && x.size(2) == size && x.size(3) == size) return;
    refuse_shape("patch_embedding", "x", x,
                 "(batch, " + std::to_string(params_.n_channels) + ", " + std::to_string(size) + ", " +
                     std::to_string(size) + ")");
  }

  const Params params_;
  at::Tensor class_token_;  // (1, 1, d_model)
  torch::nn::Conv2d projection_{nullptr};
  std::shared_ptr<Position> position_;
  std::shared_ptr<Norm> norm_;
};

}  // namespace

HEADWRIGHT_PLUGIN("patch_embedding", PatchEmbedding);

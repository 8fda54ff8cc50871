// A block's order, written out by hand, gives what the block computes.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "helpers/configs.h"
#include "model/build.h"

namespace headwright::model {
namespace {

std::string block(const std::string& order, const std::string& norm) {
  return "name: b\nmodel:\n  d_model: 8\n  n_heads: 2\n  blocks:\n    b: {order: " + order + norm +
         ", attention: softmax, feed_forward: relu}\n";
}

class Orders : public testing::Test {
 protected:
  /// The block of an order, and its parts by hand on the same weights.
  void build_block(const std::string& order, const std::string& norm = ", norm: layer_norm") {
    model_ = build(test::plan_of(block(order, norm)));
    block_ = model_->blocks[0];
    x_ = at::randn({2, 5, 8});
  }
  at::Tensor attention(const at::Tensor& x) { return block_->sublayer("attention").attention->forward({.x = x}); }
  at::Tensor feed(const at::Tensor& x) { return block_->sublayer("feed_forward").feed_forward->forward(x); }
  at::Tensor norm1(const at::Tensor& x) { return norm_of(block_->sublayer("attention"))->forward(x); }
  at::Tensor norm2(const at::Tensor& x) { return norm_of(block_->sublayer("feed_forward"))->forward(x); }
  static std::shared_ptr<Norm> norm_of(const Sublayer& sublayer) {
    return sublayer.norm ? sublayer.norm : sublayer.residual_norm;
  }
  void expect(const at::Tensor& y) { EXPECT_TRUE(at::equal(block_->forward({.x = x_}), y)); }

  std::shared_ptr<Model> model_;
  std::shared_ptr<Block> block_;
  at::Tensor x_;
};

TEST_F(Orders, PreNormNormalisesBeforeEachSubLayer) {
  build_block("pre_norm");
  const auto x = x_ + attention(norm1(x_));
  expect(x + feed(norm2(x)));
}

TEST_F(Orders, PostNormNormalisesAfterEachResidual) {
  build_block("post_norm");
  const auto x = norm1(x_ + attention(x_));
  expect(norm2(x + feed(x)));
}

TEST_F(Orders, ParallelSharesOneNorm) {
  build_block("parallel");
  EXPECT_EQ(norm_of(block_->sublayer("feed_forward")), nullptr);
  const auto normed = norm1(x_);
  expect(x_ + attention(normed) + feed(normed));
}

TEST_F(Orders, PlainHasNeitherNormNorResidual) {
  build_block("plain", "");
  EXPECT_EQ(norm_of(block_->sublayer("attention")), nullptr);
  expect(feed(attention(x_)));
}

}  // namespace
}  // namespace headwright::model

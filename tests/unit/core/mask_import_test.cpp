// Masks of other libraries keep their meaning.
#include "headwright/mask_import.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "headwright/attend.h"

namespace headwright {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

at::Tensor heads(std::int64_t length) { return at::randn({2, 3, length, 4}, at::kDouble); }

void expect_equal(const at::Tensor& q, const at::Tensor& k, const Mask& mask, const at::Tensor& expected) {
  for (const auto& kernel : kernel_names()) {
    EXPECT_TRUE(attend(q, k, k, {.mask = mask, .kernel = kernel}).y.allclose(expected, 1e-10, 1e-12)) << kernel;
  }
}

TEST(MaskImport, SdpaMasksMeanTheSameHere) {
  at::manual_seed(1);
  const auto q = heads(5), k = heads(7);
  const auto visible = at::rand({2, 1, 5, 7}) < 0.6;
  const auto added = at::zeros({5, 7}, at::kDouble).masked_fill(at::rand({5, 7}) < 0.4, -INFINITY);
  const auto sdpa = [&](const std::optional<at::Tensor>& mask, bool causal) {
    return at::scaled_dot_product_attention(q, k, k, mask, 0, causal);
  };
  expect_equal(q, k, mask_from_sdpa(visible, false, 5, 7), sdpa(visible, false));
  expect_equal(q, k, mask_from_sdpa(added, false, 5, 7), sdpa(added, false));
  expect_equal(q, k, mask_from_sdpa({}, true, 5, 7), sdpa({}, true));  // aligned to the first key
  EXPECT_TRUE(mask_from_sdpa({}, true, 7, 7).is_causal());
  EXPECT_TRUE(mask_from_sdpa({}, false, 5, 7).sees_everything());
}

/// torch's CPU path takes both; here they are one mask, in which each stands once.
TEST(MaskImport, AnSdpaMaskTogetherWithIsCausalIsCombinedOnce) {
  at::manual_seed(4);
  const auto q = heads(5), k = heads(7);
  const auto visible = at::rand({2, 1, 5, 7}) < 0.6;
  const auto added = at::zeros({5, 7}, at::kDouble).masked_fill(at::rand({5, 7}) < 0.4, -INFINITY);
  const auto sdpa = [&](const at::Tensor& keys, const at::Tensor& mask) {
    return at::scaled_dot_product_attention(q, keys, keys, mask);
  };
  const auto lower = at::ones({5, 7}, at::kBool).tril();
  expect_equal(q, k, mask_from_sdpa(visible, true, 5, 7), sdpa(k, visible.logical_and(lower)));
  expect_equal(q, k, mask_from_sdpa(added, true, 5, 7), sdpa(k, added.eq(0).logical_and(lower)));
  EXPECT_EQ(mask_from_sdpa(added, true, 5, 7).to_string(), "all(dense(5, 7), dense(5, 7))");

  const auto square = at::rand({5, 5}) < 0.6;
  const auto both = mask_from_sdpa(square, true, 5, 5);
  EXPECT_EQ(both.to_string(), "all(dense(5, 5), causal)");
  expect_equal(q, q, both, at::scaled_dot_product_attention(q, q, q, square, 0, /*is_causal=*/true));
  expect_equal(q, q, both, sdpa(q, square.logical_and(at::ones({5, 5}, at::kBool).tril())));
}

TEST(MaskImport, MultiheadAttentionMarksWhatIsHidden) {
  at::manual_seed(2);
  const auto q = heads(5), k = heads(7);
  const auto hidden = at::rand({6, 5, 7}) < 0.4;  // (batch * n_heads, q_len, k_len)
  const auto expected = at::scaled_dot_product_attention(q, k, k, hidden.logical_not().view({2, 3, 5, 7}));
  expect_equal(q, k, mask_from_multihead_attention(hidden, 3), expected);
  const auto padding = at::rand({2, 7}) < 0.4;
  EXPECT_TRUE(key_mask_from_multihead_attention(padding).equal(padding.logical_not()));
  EXPECT_TRUE(key_mask_from_multihead_attention(at::zeros({2, 7}).masked_fill(padding, -INFINITY))
                  .equal(padding.logical_not()));
}

TEST(MaskImport, FlashCountsKeysBesideTheQueryItself) {
  EXPECT_EQ(mask_from_flash(3, 0).to_string(), "band(3, 0)");  // sees left + 1 keys
  EXPECT_EQ(mask_from_flash(-1, 2).to_string(), "band(all, 2)");
  EXPECT_TRUE(mask_from_flash(-1, -1).sees_everything());
  EXPECT_TRUE(mask_from_flash(-1, -1, /*causal=*/true).is_causal());
  const auto q = heads(9);
  const auto window = attend(q, q, q, {.mask = Mask::window(4), .kernel = "reference"}).y;
  expect_equal(q, q, mask_from_flash(3, 0), window);
}

TEST(MaskImport, RefusesNumbersThatChangeScoresAndOtherLengths) {
  EXPECT_THAT([] { mask_from_sdpa(at::full({2, 2}, -1e9), false, 2, 2); },
              ThrowsMessage<Error>(HasSubstr("numbers other than 0 and -inf")));
  EXPECT_THAT([] { dense_mask(at::ones({2, 2})); }, ThrowsMessage<ShapeError>(HasSubstr("expected bool")));
  const auto mask = dense_mask(at::ones({4, 4}, at::kBool));
  EXPECT_THAT([&] { attend(heads(5), heads(5), heads(5), {.mask = mask}); },
              ThrowsMessage<ShapeError>(HasSubstr("k_len = 5 as in k")));
  EXPECT_THAT([&] { attend(heads(5), heads(4), heads(4), {.mask = mask}); },
              ThrowsMessage<ShapeError>(HasSubstr("as many rows as q has")));
}

}  // namespace
}  // namespace headwright

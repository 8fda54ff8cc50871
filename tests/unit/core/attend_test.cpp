// attend() refuses what does not fit, and chooses the kernel that it reports.
#include "headwright/attend.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

namespace headwright {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

at::Tensor heads(std::int64_t batch, std::int64_t n_heads, std::int64_t length, std::int64_t d_head = 4) {
  return at::randn({batch, n_heads, length, d_head}, at::kDouble);
}

TEST(Attend, AutoTakesTheFirstKernelThatCan) {
  EXPECT_THAT(kernel_names(), ::testing::ElementsAre("sdpa", "blockwise", "reference"));
  const auto plain = choose_kernel({.mask = Mask::causal()});
  EXPECT_EQ(plain.requested, "auto");
  EXPECT_EQ(plain.effective, "sdpa");
  const auto capped = choose_kernel({.modifiers = {ScoreModifier::softcap(5)}});
  EXPECT_EQ(capped.effective, "blockwise");
  EXPECT_EQ(capped.reason, "sdpa cannot apply score modifiers (softcap(5))");
  EXPECT_EQ(choose_kernel({.needs_lse = true}).effective, "blockwise");
  const auto dropping = choose_kernel({.modifiers = {ScoreModifier::softcap(5)}, .dropout = 0.5});
  EXPECT_EQ(dropping.effective, "reference");
  EXPECT_EQ(dropping.reason, "sdpa cannot apply score modifiers (softcap(5)); blockwise cannot drop weights");
}

TEST(Attend, AutoTakesTheKernelThatSkipsWhatASparseMaskHides) {
  const auto window = choose_kernel({.mask = Mask::window(64)});
  EXPECT_EQ(window.effective, "blockwise");
  EXPECT_EQ(window.reason, "skips what window(64) hides");
  for (const auto& mask :
       {Mask::block_local(4), Mask::dilated(4, 2), Mask::any({Mask::band(4, 4), Mask::global(2)}),
        Mask::all({Mask::causal(), Mask::random(2, 64, 1)}), Mask::negation(Mask::negation(Mask::window(3)))}) {
    EXPECT_EQ(choose_kernel({.mask = mask}).effective, "blockwise") << mask.to_string();
  }
  for (const auto& mask : {Mask::causal(), Mask::strided(4), Mask::any({Mask::causal(), Mask::prefix(4)}),
                           Mask::negation(Mask::window(3)), Mask::document()}) {
    EXPECT_EQ(choose_kernel({.mask = mask}).effective, "sdpa") << mask.to_string();
  }
  EXPECT_EQ(choose_kernel({.mask = Mask::window(64), .dropout = 0.5}).effective, "sdpa");
  EXPECT_EQ(choose_kernel({.mask = Mask::window(64), .kernel = "sdpa"}).effective, "sdpa");
}

TEST(Attend, AForcedKernelThatCannotIsAnErrorNeverASubstitute) {
  const Scoring scoring{.modifiers = {ScoreModifier::softcap(5)}, .kernel = "sdpa"};
  const auto q = heads(1, 1, 3);
  EXPECT_THAT([&] { attend(q, q, q, scoring); },
              ThrowsMessage<Error>(
                  "[attend] kernel 'sdpa' cannot apply score modifiers (softcap(5)); use 'reference' or 'auto'"));
  EXPECT_EQ(choose_kernel({.kernel = "reference"}).effective, "reference");
}

TEST(Attend, AnUnknownKernelListsTheKnownOnes) {
  EXPECT_THAT([] { choose_kernel({.kernel = "flash"}); },
              ThrowsMessage<Error>("[attend] kernel: got 'flash', expected one of auto, sdpa, blockwise, reference"));
}

TEST(Attend, AQueryThatSeesNothingGivesZerosAndFiniteGradientsInEveryKernel) {
  for (const auto& kernel : kernel_names()) {
    const auto q = heads(2, 2, 4).requires_grad_(), k = heads(2, 2, 4).requires_grad_(),
               v = heads(2, 2, 4).requires_grad_();
    const auto lengths = at::tensor({4, 0}).unsqueeze(1);
    const auto y = attend(q, k, v, {.key_mask = at::arange(4) < lengths, .kernel = kernel}).y;
    EXPECT_TRUE(y[1].eq(0).all().item<bool>()) << kernel;
    EXPECT_TRUE(y[0].ne(0).all().item<bool>()) << kernel;
    y.square().sum().backward();
    for (const auto& x : {q, k, v}) EXPECT_TRUE(x.grad().isfinite().all().item<bool>()) << kernel;
  }
}

/// Documented so: a weight of 0 times NaN is NaN, and SDPA adds its mask to scores. A key mask is no cleaning of data.
TEST(Attend, ANanBehindAMaskReachesTheOutputOfEveryKernelThatReadsIt) {
  const auto mask = at::arange(4).ne(2).unsqueeze(0);
  const auto nan_at_hidden = [](at::Tensor x) {
    x.select(2, 2).fill_(std::numeric_limits<double>::quiet_NaN());
    return x;
  };
  const auto clean = [](const at::Tensor& y) { return y.isnan().logical_not().all().item<bool>(); };
  for (const auto& kernel : kernel_names()) {
    const auto q = heads(1, 2, 4), k = heads(1, 2, 4), v = heads(1, 2, 4);
    const auto y = [&](const at::Tensor& keys, const at::Tensor& values) {
      return attend(q, keys, values, {.key_mask = mask, .kernel = kernel}).y;
    };
    EXPECT_TRUE(clean(y(k, v))) << kernel;
    EXPECT_TRUE(y(k, nan_at_hidden(v.clone())).isnan().all().item<bool>()) << kernel;
    EXPECT_EQ(clean(y(nan_at_hidden(k.clone()), v)), kernel != "sdpa") << kernel;
  }
}

/// blockwise does not read a tile that the mask leaves empty, so what is in it does not come out; the others do.
TEST(Attend, ANanInATileThatTheMaskHidesIsSkippedByBlockwiseAlone) {
  const auto q = heads(1, 1, 300), k = heads(1, 1, 300), v = heads(1, 1, 300);
  v.select(2, 0).fill_(std::numeric_limits<double>::quiet_NaN());
  for (const auto& kernel : kernel_names()) {
    const auto last = attend(q, k, v, {.mask = Mask::window(3), .kernel = kernel}).y.select(2, 299);
    EXPECT_EQ(last.isnan().any().item<bool>(), kernel != "blockwise") << kernel;
  }
}

TEST(Attend, KeysOfLengthZeroAndEmptyBatchesAreEmptyRows) {
  for (const auto& kernel : kernel_names()) {
    for (const auto& mask : {Mask(), Mask::causal()}) {
      const auto y = attend(heads(2, 2, 3), heads(2, 2, 0), heads(2, 2, 0), {.mask = mask, .kernel = kernel}).y;
      EXPECT_TRUE(y.equal(at::zeros({2, 2, 3, 4}, at::kDouble))) << kernel;
      EXPECT_EQ(attend(heads(0, 2, 3), heads(0, 1, 3), heads(0, 1, 3), {.mask = mask, .kernel = kernel}).y.size(0), 0);
    }
  }
  const auto lse = attend(heads(1, 1, 3), heads(1, 1, 0), heads(1, 1, 0), {.needs_lse = true}).lse;
  EXPECT_TRUE(lse.equal(at::full({1, 1, 3}, -std::numeric_limits<double>::infinity(), at::kDouble)));
}

TEST(Attend, QueryHeadReadsTheKeyHeadOfItsGroup) {
  const auto q = heads(1, 4, 3), k = heads(1, 2, 3), v = heads(1, 2, 3);
  for (const auto& kernel : kernel_names()) {
    const auto y = attend(q, k, v, {.kernel = kernel}).y;
    for (std::int64_t h = 0; h < 4; ++h) {
      const auto one = [&](const at::Tensor& x, std::int64_t head) { return x.slice(1, head, head + 1); };
      const auto alone = attend(one(q, h), one(k, h / 2), one(v, h / 2), {.kernel = kernel}).y;
      EXPECT_TRUE(one(y, h).allclose(alone, 1e-12, 1e-12)) << kernel << " head " << h;
    }
  }
}

TEST(Attend, DropsWeightsOnlyAsAsked) {
  at::manual_seed(1);
  const auto q = heads(1, 1, 50), v = at::ones({1, 1, 50, 4}, at::kDouble);
  for (const auto& kernel : kernel_names()) {
    EXPECT_TRUE(attend(q, q, v, {.kernel = kernel}).y.allclose(v, 1e-12, 1e-12)) << kernel;
    const Scoring dropping{.dropout = 0.5, .kernel = kernel};
    if (kernel == "blockwise") {
      EXPECT_THAT([&] { attend(q, q, v, dropping); }, ThrowsMessage<Error>(HasSubstr("cannot drop weights")));
      continue;
    }
    const auto dropped = attend(q, q, v, dropping).y;
    EXPECT_FALSE(dropped.allclose(v)) << kernel;
    EXPECT_NEAR(dropped.mean().item<double>(), 1, 0.3) << kernel;  // survivors are scaled by 1 / (1 - p)
  }
}

TEST(Attend, BlockwiseRefusesASecondDerivativeInsteadOfGivingAWrongOne) {
  const auto q = heads(1, 1, 5).requires_grad_();
  const auto y = attend(q, q, q, {.kernel = "blockwise"}).y;
  EXPECT_THAT([&] { torch::autograd::grad({y.sum()}, {q}, {}, true, /*create_graph=*/true); },
              ThrowsMessage<Error>(HasSubstr("no second derivative; use kernel 'reference'")));
}

TEST(Attend, NamesTheTensorThatDoesNotFit) {
  const auto refuses = [](const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const Scoring& scoring,
                          const std::string& message) {
    EXPECT_THAT([&] { attend(q, k, v, scoring); }, ThrowsMessage<ShapeError>(HasSubstr(message)));
  };
  const auto k = heads(2, 4, 17);
  refuses(heads(2, 4, 17, 3), k, k, {}, "[attend] q: got (2, 4, 17, 3), expected d_head = 4 as in k (2, 4, 17, 4)");
  refuses(heads(3, 4, 17), k, k, {}, "q: got (3, 4, 17, 4), expected batch = 2");
  refuses(heads(2, 6, 17), k, k, {}, "q: got (2, 6, 17, 4), expected a multiple of the 4 heads of k");
  refuses(k[0], k, k, {}, "q: got (4, 17, 4), expected (batch, n_heads, q_len, d_head)");
  refuses(k, k, heads(2, 4, 16), {}, "v: got (2, 4, 16, 4)");
  refuses(k.to(at::kFloat), k, k, {}, "q: got Float on cpu, expected Double on cpu as in k");
  refuses(heads(2, 4, 1), k, k, {.same_sequence = true}, "q: got (2, 4, 1, 4), expected the length of k");
  refuses(k, k, k, {.key_mask = at::ones({2, 16}, at::kBool)}, "key_mask: got (2, 16), expected (batch, k_len)");
  refuses(k, k, k, {.key_mask = at::ones({2, 17})}, "key_mask: got Float, expected bool");
}

TEST(MaskedSoftmax, RowsThatSeeNothingAreZeroWithFiniteGradients) {
  const auto scores = at::randn({2, 3}, at::kDouble).requires_grad_();
  const auto visible = at::tensor({1, 1, 0, 0, 0, 0}, at::kByte).to(at::kBool).view({2, 3});
  const auto weights = masked_softmax(scores, visible);
  EXPECT_TRUE(weights.sum(-1).allclose(at::tensor({1.0, 0.0}, at::kDouble)));
  weights.square().sum().backward();
  EXPECT_TRUE(scores.grad().isfinite().all().item<bool>());
  EXPECT_TRUE(scores.grad()[1].eq(0).all().item<bool>());
  EXPECT_TRUE(masked_softmax(scores, {}).equal(scores.softmax(-1)));
}

}  // namespace
}  // namespace headwright

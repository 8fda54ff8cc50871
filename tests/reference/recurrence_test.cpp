// The helpers of layers that carry a state along the sequence, against loops, computed and traced.
#include "headwright/recurrence.h"

#include <gtest/gtest.h>

#include "headwright/attention.h"

namespace headwright {
namespace {

TEST(Recurrence, SumsBetweenTakeNoDifferences) {
  auto steps = at::rand({2, 3, 70}, at::kDouble).neg();
  steps.slice(-1, 5, 20).mul_(1e8);
  const auto narrow = sums_between(steps.to(at::kFloat));
  ASSERT_EQ(narrow.sizes(), (std::vector<std::int64_t>{2, 3, 70, 70}));
  for (std::int64_t i = 0; i < 70; ++i) {
    for (std::int64_t j = 0; j < 70; ++j) {
      const auto got = narrow[1][2][i][j].item<double>();
      if (j > i) EXPECT_EQ(got, -INFINITY);
      else EXPECT_NEAR(got, steps[1][2].slice(0, j + 1, i + 1).sum().item<double>(), -1e-5 * got) << i << ", " << j;
    }
  }
}

TEST(Recurrence, AStepOfMinusInfinityCutsOff) {
  auto steps = at::zeros({4}, at::kDouble);
  steps[2] = -INFINITY;
  steps.requires_grad_(true);
  const auto fading = sums_between(steps).exp();
  EXPECT_TRUE(fading.equal(
      at::tensor({1., 0., 0., 0., 1., 1., 0., 0., 0., 0., 1., 0., 0., 0., 1., 1.}).view({4, 4}).to(at::kDouble)));
  fading.sum().backward();
  EXPECT_TRUE(steps.grad().isfinite().all().item<bool>());
}

TEST(Recurrence, StatesBeforeGoOnFromOneToTheNext) {
  const auto added = at::randn({2, 3, 5, 4, 2}, at::kDouble), log_kept = at::rand({2, 1, 5}, at::kDouble).neg();
  const auto states = states_before(added, log_kept);
  auto state = at::zeros({2, 3, 4, 2}, at::kDouble);
  for (std::int64_t c = 0; c < 5; ++c) {
    EXPECT_TRUE(states.select(2, c).allclose(state, 0, 1e-14));
    state = state * log_kept.select(2, c).exp().unsqueeze(-1).unsqueeze(-1) + added.select(2, c);
  }
}

TEST(Recurrence, DocumentsAreCountedFromWhatTheCacheHolds) {
  const auto numbers = [](std::int64_t before, const std::vector<std::int64_t>& ids) {
    Cache cache{.tensors = {}, .length = at::full({}, before, at::kLong)};
    const auto seq_len = static_cast<std::int64_t>(ids.size()) - before;
    return document_numbers(
        "test",
        {.x = at::zeros({1, seq_len, 2}), .document_ids = at::tensor(ids, at::kLong).unsqueeze(0), .cache = &cache})[0];
  };
  const auto equal = [](const at::Tensor& got, const std::vector<std::int64_t>& expected) {
    return got.equal(at::tensor(expected, at::kLong));
  };
  EXPECT_TRUE(equal(numbers(0, {7, 7, -1, 5, 5}), {0, 0, 1, 2, 2}));
  EXPECT_TRUE(equal(numbers(2, {7, 7, 7, 5}), {0, 1}));
  EXPECT_TRUE(equal(numbers(2, {7, 7, 5, 5}), {1, 1}));
  EXPECT_TRUE(equal(numbers(3, {7, 7, 5, 7}), {1}));
  EXPECT_FALSE(document_numbers("test", {.x = at::zeros({1, 3, 2})}).defined());
}

TEST(Recurrence, PiecesEndWhereAnySequenceBeginsADocument) {
  const auto ids = at::tensor({0, 0, 1, 1, 1, 0, 0, 0, 0, 2}, at::kLong).view({2, 5});
  const auto pieces = document_pieces("test", {.x = at::zeros({2, 5, 1}), .document_ids = ids});
  ASSERT_EQ(pieces.size(), 3U);
  EXPECT_FALSE(pieces[0].first.defined());
  EXPECT_EQ(pieces[1].begin, 2);
  EXPECT_EQ(pieces[1].end, 4);
  EXPECT_TRUE(pieces[1].first.equal(at::tensor({1, 0}).to(at::kBool).view({2, 1})));
  EXPECT_TRUE(pieces[2].first.equal(at::tensor({0, 1}).to(at::kBool).view({2, 1})));
}

}  // namespace
}  // namespace headwright

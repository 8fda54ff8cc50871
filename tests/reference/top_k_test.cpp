// Top-k attention against loops over doubles.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "reference/qkv_layer.h"

namespace {

using headwright::Mask;
using headwright::ParamMap;
using headwright::Value;
using loops::Row;
using loops::Rows;

constexpr std::size_t kHead = 3;
headwright::Dims dims(std::int64_t n_kv_heads) {
  return {.d_model = 6, .n_heads = 4, .n_kv_heads = n_kv_heads, .d_head = kHead};
}

/// Softmax over the n largest scores, of equal ones the first; 0 elsewhere.
Row largest(const Row& scores, std::size_t n) {
  std::vector<std::size_t> order(scores.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return scores[a] > scores[b]; });
  Row weights(scores.size(), 0.0);
  double total = 0;
  for (std::size_t rank = 0; rank < std::min(n, order.size()); ++rank) {
    weights[order[rank]] = std::exp(scores[order[rank]]);
    total += weights[order[rank]];
  }
  for (auto& weight : weights) weight /= total;
  return weights;
}

loops::Subject subject(std::size_t n_keys, const headwright::Dims& sizes, const ParamMap& more = {}, double scale = 0,
                       double slope = 0) {
  ParamMap params{{"mask", Value{Mask::causal()}}, {"n_keys", Value{static_cast<std::int64_t>(n_keys)}}};
  params.insert(params.end(), more.begin(), more.end());
  const loops::Head head = [=](const torch::nn::Module&, std::size_t h, const Rows& q, const Rows& k, const Rows& v,
                               const loops::Keys& keys) {
    const double factor = scale > 0 ? scale : 1 / std::sqrt(double(kHead));
    const auto score = [&](std::size_t i, std::size_t j) {
      return factor * loops::dot(q[i], k[j]) - std::pow(slope, double(h + 1)) * (double(i) - double(j));
    };
    return loops::mixed(q.size(), v, keys.sees, score, [&](const Row& scores) { return largest(scores, n_keys); });
  };
  return {"top_k", sizes, params, loops::qkv_layer(4, static_cast<std::size_t>(sizes.n_kv_heads), kHead, head)};
}

TEST(TopK, EqualsThePapersFormula) {
  for (const std::size_t n_keys : {1U, 3U, 16U}) {
    SCOPED_TRACE(n_keys);
    const auto top = subject(n_keys, dims(2));
    loops::expect_lengths(top);
    loops::expect_gradients(top);
  }
}

TEST(TopK, WithMoreKeysThanThereAreIsSoftmax) {
  const auto top = subject(1000, dims(4));
  loops::expect_all(top);
  auto softmax = top;
  softmax.variant = "softmax";
  softmax.params = {{"mask", Value{Mask::causal()}}};
  loops::expect_lengths(softmax);
}

TEST(TopK, EqualsTheFormulaWithAScaleAndABias) {
  loops::expect_all(subject(4, dims(1), {{"scale", Value{0.4}}, {"position", loops::component("alibi")}}, 0.4, 0.25));
}

TEST(TopK, WithACacheEqualsTheWholeSequence) {
  loops::expect_cached(subject(3, dims(2)));
  loops::expect_cached(subject(3, dims(2), {{"position", loops::component("alibi")}}, 0, 0.25));
}

/// Rounded inputs, and weights that are compared in the type's own steps: which keys are kept does not depend on it.
TEST(TopK, KeepsTheSameKeysInHalfTypes) { loops::expect_dtypes(subject(5, dims(2))); }

TEST(TopK, OfEqualScoresKeepsTheEarlierKeys) {
  const auto layer = subject(3, dims(2)).make();
  headwright::Recorder recorder;
  recorder.want("weights");
  const auto mask = at::arange(8).ne(1).unsqueeze(0);
  layer->forward({.x = at::zeros({1, 8, 6}, at::kDouble), .key_mask = mask, .recorder = &recorder});  // all scores 0
  const auto weights = recorder.notes().at(0).value;  // (1, n_heads, seq, keys)
  for (const auto& [query, keys] : std::vector<std::pair<long, std::vector<long>>>{
           {0, {0}}, {1, {0}}, {2, {0, 2}}, {3, {0, 2, 3}}, {4, {0, 2, 3}}, {7, {0, 2, 3}}}) {
    for (long j = 0; j < 8; ++j) {
      const bool kept = std::ranges::find(keys, j) != keys.end();
      EXPECT_DOUBLE_EQ(weights[0][3][query][j].item<double>(), kept ? 1 / double(keys.size()) : 0)
          << query << ", " << j;
    }
  }
}

TEST(TopK, RecordsTheWeightsOfAllItsRowsAndOfNoMoreThanNKeys) {
  headwright::Recorder recorder;
  recorder.want("weights");
  subject(2, dims(2)).make()->forward({.x = at::randn({2, 7, 6}, at::kDouble), .recorder = &recorder});
  const auto& all = recorder.notes().at(0).value;
  EXPECT_TRUE(all.sum(-1).allclose(at::ones({2, 4, 7}, at::kDouble)));
  EXPECT_TRUE(all.ne(0).sum(-1).le(2).all().item<bool>());
}

TEST(TopK, WorksWithEveryMask) { loops::expect_masks(subject(3, dims(2))); }

TEST(TopK, ReadsAMemory) { loops::expect_memory(subject(3, dims(2))); }

TEST(TopK, ComputesItsOwnScores) {
  EXPECT_FALSE(headwright::test::variant("top_k").claims(dims(2), {}).core);
  EXPECT_EQ(subject(3, dims(2)).make()->kernel().effective, "own");
}

TEST(TopK, RefusesWhatDoesNotFit) {
  const auto said = [](ParamMap params) {
    params.emplace_back("n_keys", Value{std::int64_t{2}});
    return headwright::test::issues("top_k", dims(2), params);
  };
  EXPECT_THAT(said({}), testing::IsEmpty());
  EXPECT_THAT(said({{"scale", Value{1.0}}, {"qk_norm", loops::text("l2")}}),
              testing::ElementsAre(testing::HasSubstr("scale: has no place beside qk_norm: l2")));
  EXPECT_THAT(said({{"mask", Value{Mask::document()}}, {"cross", Value{true}}}),
              testing::ElementsAre(testing::HasSubstr("mask: got document")));
  EXPECT_THAT(said({{"position", loops::component("sinusoidal")}}),
              testing::ElementsAre(testing::HasSubstr("position: got 'sinusoidal'")));
}

TEST(TopK, DropsWeightsInTrainingAlone) {
  const auto layer = subject(5, dims(2), {{"dropout", Value{0.5}}}).make();
  const auto x = at::randn({1, 9, 6}, at::kDouble);
  EXPECT_TRUE(layer->forward({.x = x}).equal(layer->forward({.x = x})));
  layer->train();
  EXPECT_FALSE(layer->forward({.x = x}).equal(layer->forward({.x = x})));
}

}  // namespace

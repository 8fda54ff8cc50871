// Sigmoid attention against loops over doubles.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "reference/qkv_layer.h"

namespace {

using headwright::Mask;
using headwright::ParamMap;
using headwright::ScoreModifier;
using headwright::Value;
using loops::Row;
using loops::Rows;

constexpr std::size_t kHead = 3;
headwright::Dims dims(std::int64_t n_kv_heads) {
  return {.d_model = 6, .n_heads = 4, .n_kv_heads = n_kv_heads, .d_head = kHead};
}

struct Setting {
  double scale = 1 / std::sqrt(3.0);
  std::optional<double> bias;  // absent = -log(keys of its document that are shown)
  double cap = 0;
};

loops::Subject subject(const headwright::Dims& sizes, const Setting& setting, const ParamMap& more = {}) {
  ParamMap params{{"mask", Value{Mask::causal()}}};
  params.insert(params.end(), more.begin(), more.end());
  const loops::Head head = [setting](const torch::nn::Module&, std::size_t, const Rows& q, const Rows& k, const Rows& v,
                                     const loops::Keys& keys) {
    const auto bias = [&](std::size_t i) {
      const auto document = keys.documents[keys.documents.size() == q.size() ? i : 0];  // a memory is one
      double count = 0;
      for (std::size_t j = 0; j < k.size(); ++j) count += keys.shown[j] && keys.documents[j] == document ? 1 : 0;
      return setting.bias.value_or(-std::log(count));
    };
    const auto score = [&](std::size_t i, std::size_t j) {
      const double product = setting.scale * loops::dot(q[i], k[j]);
      return bias(i) + (setting.cap > 0 ? setting.cap * std::tanh(product / setting.cap) : product);
    };
    return loops::mixed(q.size(), v, keys.sees, score, [](const Row& scores) {
      Row weights;
      for (const double each : scores) weights.push_back(1 / (1 + std::exp(-each)));
      return weights;
    });
  };
  return {"sigmoid", sizes, params, loops::qkv_layer(4, static_cast<std::size_t>(sizes.n_kv_heads), kHead, head)};
}

TEST(Sigmoid, EqualsThePapersFormula) { loops::expect_all(subject(dims(4), {})); }

TEST(Sigmoid, EqualsTheFormulaWithGroupedKeysItsOwnBiasScaleAndASoftcap) {
  loops::expect_all(subject(dims(2), {.scale = 0.7, .bias = -1.5, .cap = 2},
                            {{"scale", Value{0.7}},
                             {"sigmoid_bias", Value{-1.5}},
                             {"modifiers", Value{std::vector{ScoreModifier::softcap(2)}}}}));
}

TEST(Sigmoid, WorksWithEveryMask) { loops::expect_masks(subject(dims(2), {})); }

TEST(Sigmoid, RefusesToCountPositionsThatAreGivenBesideDocuments) {
  const auto layer = headwright::test::make<headwright::Attention>(
      "sigmoid", dims(4),
      {{"mask", Value{Mask::document()}},
       {"position", Value{headwright::Component{.variant = &headwright::test::variant("alibi")}}}});
  const auto x = at::randn({1, 4, 6}), ids = at::tensor({0, 0, 1, 1}).to(at::kLong).unsqueeze(0);
  EXPECT_NO_THROW(layer->forward({.x = x, .document_ids = ids}));
  EXPECT_THROW(layer->forward({.x = x, .positions = at::arange(4) % 2, .document_ids = ids}), headwright::InputError);
}

TEST(Sigmoid, ReadsAMemory) { loops::expect_memory(subject(dims(2), {})); }

TEST(Sigmoid, HasItsSlopesPastTheSizeOfATile) { loops::expect_past_a_tile(subject(dims(2), {})); }

TEST(Sigmoid, WithAFixedBiasContinuesFromACache) {
  loops::expect_cached(subject(dims(2), {.bias = -2}, {{"sigmoid_bias", Value{-2.0}}}));
}

/// With -log(number of keys) a token's output depends on how many come after it.
TEST(Sigmoid, ClaimsACacheOnlyWhereTheLengthDoesNotCount) {
  const auto& sigmoid = headwright::test::variant("sigmoid");
  const ParamMap causal{{"mask", Value{Mask::causal()}}};
  EXPECT_FALSE(sigmoid.claims(dims(2), causal).cache);
  EXPECT_TRUE(sigmoid.claims(dims(2), {{"mask", Value{Mask::causal()}}, {"sigmoid_bias", Value{-2.0}}}).cache);
  EXPECT_TRUE(sigmoid.claims(dims(2), causal).causal);
}

TEST(Sigmoid, PaddingBehindASequenceChangesNothing) {
  const auto layer = subject(dims(2), {}).make();
  const auto x = at::randn({2, 9, 6}, at::kDouble);
  const auto padded = layer->forward({.x = x, .key_mask = at::arange(9).lt(5).expand({2, 9})});
  EXPECT_TRUE(padded.slice(1, 0, 5).allclose(layer->forward({.x = x.slice(1, 0, 5)}), 0, 1e-12));
}

TEST(Sigmoid, GivesWeightsThatNeedNotSumToOne) {
  const auto layer = subject(dims(2), {.bias = 0}, {{"sigmoid_bias", Value{0.0}}}).make();
  headwright::Recorder recorder;
  recorder.want("weights");
  layer->forward({.x = at::zeros({1, 5, 6}, at::kDouble), .recorder = &recorder});
  const auto weights = recorder.notes().at(0).value;  // (1, n_heads, seq, keys)
  EXPECT_EQ(weights.sizes(), (std::vector<std::int64_t>{1, 4, 5, 5}));
  EXPECT_TRUE(weights.allclose(at::full({5, 5}, 0.5, at::kDouble).tril()));  // every score is 0
}

TEST(Sigmoid, IsComputedByTheCore) {
  EXPECT_TRUE(headwright::test::variant("sigmoid").claims(dims(2), {}).core);
  auto sizes = dims(2);
  EXPECT_NE(subject(sizes, {}).make()->kernel().effective, "sdpa");
  sizes.kernel = "sdpa";
  EXPECT_THROW(subject(sizes, {}).make()->kernel(), headwright::Error);
}

TEST(Sigmoid, RefusesWhatDoesNotFit) {
  const auto said = [](const ParamMap& params) { return headwright::test::issues("sigmoid", dims(2), params); };
  EXPECT_THAT(said({}), testing::IsEmpty());
  EXPECT_THAT(said({{"scale", Value{1.0}}, {"qk_norm", loops::text("l2")}}),
              testing::ElementsAre(testing::HasSubstr("scale: has no place beside qk_norm: l2")));
  EXPECT_THAT(said({{"mask", Value{Mask::document()}}, {"cross", Value{true}}}),
              testing::ElementsAre(testing::HasSubstr("mask: got document")));
  EXPECT_THAT(said({{"position", loops::component("sinusoidal")}}),
              testing::ElementsAre(testing::HasSubstr("position: got 'sinusoidal'")));
}

TEST(Sigmoid, DropsWeightsInTrainingAlone) {
  const auto layer = subject(dims(2), {}, {{"dropout", Value{0.5}}}).make();
  const auto x = at::randn({1, 9, 6}, at::kDouble);
  EXPECT_TRUE(layer->forward({.x = x}).equal(layer->forward({.x = x})));
  layer->train();
  EXPECT_FALSE(layer->forward({.x = x}).equal(layer->forward({.x = x})));
}

}  // namespace

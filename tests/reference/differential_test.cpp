// Differential attention against loops over doubles.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "reference/qkv_layer.h"

namespace {

using headwright::Mask;
using headwright::ParamMap;
using headwright::Value;
using loops::Row;
using loops::Rows;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::size_t kHead = 4;
headwright::Dims dims(std::int64_t n_kv_heads, std::int64_t layer = 0) {
  return {.d_model = 6, .n_heads = 4, .n_kv_heads = n_kv_heads, .d_head = kHead, .layer = layer};
}

struct Setting {
  double scale = 1 / std::sqrt(2.0);
  double lambda_init = 0.2;  // 0.8 - 0.6 exp(0), of the first layer
  double eps = 1e-5;
};

double lambda(const torch::nn::Module& module, double init) {
  const auto vector = [&](const char* name) { return loops::parameter(module, name)[0]; };
  return std::exp(loops::dot(vector("lambda_q1"), vector("lambda_k1"))) -
         std::exp(loops::dot(vector("lambda_q2"), vector("lambda_k2"))) + init;
}

/// The first half of a head's channels asks in the first map, the second half in the second; both read whole values.
loops::Head head(const Setting& setting) {
  return [setting](const torch::nn::Module& module, std::size_t, const Rows& q, const Rows& k, const Rows& v,
                   const loops::Keys& keys) {
    const auto map = [&](std::size_t first) {
      const auto q_half = loops::columns(q, first, kHead / 2), k_half = loops::columns(k, first, kHead / 2);
      return loops::mixed(q.size(), v, keys.sees, loops::scaled(q_half, k_half, setting.scale), loops::softmax);
    };
    const auto first = map(0), second = map(kHead / 2);
    const auto factor = lambda(module, setting.lambda_init);
    const auto weight = loops::parameter(module, "sub_norm")[0];
    Rows y;
    for (std::size_t i = 0; i < q.size(); ++i) {
      Row difference;
      for (std::size_t c = 0; c < kHead; ++c) difference.push_back(first[i][c] - factor * second[i][c]);
      auto normed = loops::rms_normed(difference, weight, setting.eps);
      for (auto& value : normed) value *= 1 - setting.lambda_init;
      y.push_back(normed);
    }
    return y;
  };
}

loops::Subject subject(const headwright::Dims& sizes, const Setting& setting, const ParamMap& more = {}) {
  ParamMap params{{"mask", Value{Mask::causal()}}};
  params.insert(params.end(), more.begin(), more.end());
  return {"differential", sizes, params,
          loops::qkv_layer(4, static_cast<std::size_t>(sizes.n_kv_heads), kHead, head(setting))};
}

TEST(Differential, EqualsThePapersFormula) { loops::expect_all(subject(dims(4), {})); }

TEST(Differential, WithGroupedKeysPairsTheMapsOfAHead) { loops::expect_all(subject(dims(2), {})); }

TEST(Differential, TakesItsLambdaFromTheLayer) {
  loops::expect_lengths(subject(dims(4, 7), {.lambda_init = 0.8 - 0.6 * std::exp(-2.1)}));
}

TEST(Differential, TakesItsScaleEpsAndLambda) {
  loops::expect_all(subject(dims(1), {.scale = 0.3, .lambda_init = 0.5, .eps = 0.1},
                            {{"scale", Value{0.3}}, {"lambda_init", Value{0.5}}, {"norm_eps", Value{0.1}}}));
}

TEST(Differential, WorksWithEveryMask) { loops::expect_masks(subject(dims(2), {})); }

TEST(Differential, ReadsAMemory) { loops::expect_memory(subject(dims(2), {})); }

TEST(Differential, HasItsSlopesPastTheSizeOfATile) { loops::expect_past_a_tile(subject(dims(2), {})); }

TEST(Differential, WithACacheEqualsTheWholeSequence) { loops::expect_cached(subject(dims(2), {})); }

/// RoPE turns each map's queries and keys on their own, as heads of half the width.
TEST(Differential, RopeTurnsTheHalvesOfAHeadApart) {
  auto sizes = headwright::Dims{.d_model = 8, .n_heads = 2, .n_kv_heads = 2, .d_head = 4};
  const auto turned = [](const Rows& x) {  // each half is one pair, of the fastest rate
    Rows y = x;
    for (std::size_t i = 0; i < x.size(); ++i) {
      for (const std::size_t a : {0U, 2U}) {
        y[i][a] = x[i][a] * std::cos(double(i)) - x[i][a + 1] * std::sin(double(i));
        y[i][a + 1] = x[i][a] * std::sin(double(i)) + x[i][a + 1] * std::cos(double(i));
      }
    }
    return y;
  };
  const loops::Head rotated = [&](const torch::nn::Module& module, std::size_t, const Rows& q, const Rows& k,
                                  const Rows& v, const loops::Keys& keys) {
    const auto q_turned = turned(q), k_turned = turned(k);
    const auto map = [&](std::size_t first) {
      const auto q_half = loops::columns(q_turned, first, 2), k_half = loops::columns(k_turned, first, 2);
      return loops::mixed(q.size(), v, keys.sees, loops::scaled(q_half, k_half, 1 / std::sqrt(2.0)), loops::softmax);
    };
    const auto first = map(0), second = map(2);
    Rows y;
    for (std::size_t i = 0; i < q.size(); ++i) {
      Row difference;
      for (std::size_t c = 0; c < 4; ++c) difference.push_back(first[i][c] - lambda(module, 0.2) * second[i][c]);
      y.push_back(loops::rms_normed(difference, loops::parameter(module, "sub_norm")[0], 1e-5));
      for (auto& value : y.back()) value *= 0.8;
    }
    return y;
  };
  const loops::Subject rope{"differential",
                            sizes,
                            {{"mask", Value{Mask::causal()}}, {"position", loops::component("rope")}},
                            loops::qkv_layer(2, 2, 4, rotated)};
  loops::expect_all(rope);
  loops::expect_cached(rope);
}

TEST(Differential, ItsWeightsMakeItsOutput) {
  const auto layer = subject(dims(2), {}).make();
  headwright::Recorder recorder;
  const auto x = at::randn({2, 7, 6}, at::kDouble);
  layer->forward({.x = x, .recorder = &recorder});
  at::Tensor weights, v, heads, factor;
  for (const auto& note : recorder.notes()) {
    if (note.name == "weights") weights = note.value;  // (batch, n_heads, seq, keys)
    if (note.name == "v") v = note.value;
    if (note.name == "heads") heads = note.value;
    if (note.name == "lambda") factor = note.value;
  }
  ASSERT_EQ(weights.sizes(), (std::vector<std::int64_t>{2, 4, 7, 7}));
  EXPECT_NEAR(factor.item<double>(), lambda(*layer, 0.2), 1e-12);
  EXPECT_TRUE(weights.sum(-1).allclose((1 - factor).expand({2, 4, 7})));
  // v: (batch, 4, keys, 2), two of them beside each other to a key head; each is read by two heads.
  const auto values = at::cat({v.slice(1, 0, 4, 2), v.slice(1, 1, 4, 2)}, -1).repeat_interleave(2, 1);
  const auto y = weights.matmul(values);
  const auto normed = y * (y.square().mean(-1, true) + 1e-5).rsqrt() * layer->named_parameters()["sub_norm"] * 0.8;
  EXPECT_TRUE(normed.allclose(heads));

  headwright::Recorder chosen;
  chosen.want("weights");
  chosen.choose_weights({.heads = {3, 1}, .queries = {5}});
  layer->forward({.x = x, .recorder = &chosen});
  const auto expected = at::stack({weights.select(1, 3), weights.select(1, 1)}, 1).slice(2, 5, 6);
  EXPECT_TRUE(chosen.notes().at(0).value.allclose(expected));
}

TEST(Differential, RefusesWhatDoesNotFit) {
  const auto said = [](const headwright::Dims& sizes, const ParamMap& params) {
    return headwright::test::issues("differential", sizes, params);
  };
  EXPECT_THAT(said(dims(2), {}), testing::IsEmpty());
  EXPECT_THAT(said({.d_model = 6, .n_heads = 2, .n_kv_heads = 2, .d_head = 3}, {}),
              ElementsAre("d_head: got 3, expected an even number: one half for each map"));
  EXPECT_THAT(said(dims(2), {{"position", loops::component("alibi")}}),
              ElementsAre("position: got 'alibi', which changes scores; differential takes one that rotates"));
  EXPECT_THAT(said(dims(2), {{"position", loops::component("rope")}}), testing::IsEmpty());
  EXPECT_THAT(
      said({.d_model = 12, .n_heads = 2, .n_kv_heads = 2, .d_head = 6}, {{"position", loops::component("rope")}}),
      ElementsAre(HasSubstr("position.partial_rotary_factor: turns the first 3 of d_head = 3 channels")));
  EXPECT_THAT(said(dims(2), {{"position", loops::component("sinusoidal")}}), ElementsAre(HasSubstr("sinusoidal")));
  EXPECT_THAT(said(dims(2), {{"scale", Value{1.0}}, {"qk_norm", loops::text("l2")}}),
              ElementsAre(HasSubstr("scale: ")));
}

TEST(Differential, ReportsTheKernelThatItIsComputedBy) {
  for (const std::string kernel : {"sdpa", "reference"}) {
    auto sizes = dims(2);
    sizes.kernel = kernel;
    const auto forced = subject(sizes, {});
    EXPECT_EQ(forced.make()->kernel().effective, kernel);
    loops::expect_lengths(forced);
  }
}

TEST(Differential, DropsWeightsInTrainingAlone) {
  const auto layer = subject(dims(2), {}, {{"dropout", Value{0.5}}}).make();
  const auto x = at::randn({1, 9, 6}, at::kDouble);
  EXPECT_TRUE(layer->forward({.x = x}).equal(layer->forward({.x = x})));
  layer->train();
  EXPECT_FALSE(layer->forward({.x = x}).equal(layer->forward({.x = x})));
}

}  // namespace

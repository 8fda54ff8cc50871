// Latent attention against loops over doubles, with and without its parts, and DeepSeek-V3's figures.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "model/meta.h"
#include "reference/layer_loops.h"

namespace {

using headwright::Component;
using headwright::Mask;
using headwright::ParamMap;
using headwright::Value;
using loops::Row;
using loops::Rows;
using testing::ElementsAre;
using testing::HasSubstr;

struct Sizes {
  std::size_t heads = 2, q_latent = 0, latent = 5, nope = 4, rope = 0, value = 3;
  bool norms = true, interleaved = false;
  double eps = 1e-6;
};

Component rope(bool interleaved) {
  return {.variant = &headwright::test::variant("rope"),
          .values = {{"layout", Value{std::string(interleaved ? "interleaved" : "half")}}}};
}

/// Channels in pairs, turned by position 10000^(-2i / d).
Row turned(const Row& x, std::size_t position, bool interleaved) {
  Row y = x;
  for (std::size_t pair = 0; pair < x.size() / 2; ++pair) {
    const auto a = interleaved ? 2 * pair : pair, b = interleaved ? a + 1 : a + x.size() / 2;
    const double angle = double(position) * std::pow(10000.0, -2.0 * double(pair) / double(x.size()));
    y[a] = x[a] * std::cos(angle) - x[b] * std::sin(angle);
    y[b] = x[a] * std::sin(angle) + x[b] * std::cos(angle);
  }
  return y;
}

Rows turned(const Rows& x, bool interleaved) {
  Rows y;
  for (std::size_t i = 0; i < x.size(); ++i) y.push_back(turned(x[i], i, interleaved));
  return y;
}

Rows normed(const torch::nn::Module& module, const std::string& name, const Rows& x, const Sizes& sizes) {
  if (!sizes.norms) return x;
  Rows y;
  for (const auto& row : x)
    y.push_back(loops::rms_normed(row, loops::parameter(module, name + ".weight")[0], sizes.eps));
  return y;
}

loops::Layer latent(const Sizes& s, double scale = 0) {
  return [=](const torch::nn::Module& module, const Rows& x, const loops::Keys& keys) {
    const auto q_all =
        s.q_latent == 0
            ? loops::linear(module, "q_proj", x)
            : loops::linear(module, "q_b_proj", normed(module, "q_a_norm", loops::linear(module, "q_a_proj", x), s));
    const auto compressed = loops::linear(module, "kv_a_proj", x);
    const auto expanded =
        loops::linear(module, "kv_b_proj", normed(module, "kv_a_norm", loops::columns(compressed, 0, s.latent), s));
    const auto k_rope = turned(loops::columns(compressed, s.latent, s.rope), s.interleaved);
    const double factor = scale > 0 ? scale : 1 / std::sqrt(double(s.nope + s.rope));
    Rows heads;
    for (std::size_t h = 0; h < s.heads; ++h) {
      const auto q = loops::columns(q_all, h * (s.nope + s.rope), s.nope);
      const auto q_rope = turned(loops::columns(q_all, h * (s.nope + s.rope) + s.nope, s.rope), s.interleaved);
      const auto k = loops::columns(expanded, h * (s.nope + s.value), s.nope);
      const auto v = loops::columns(expanded, h * (s.nope + s.value) + s.nope, s.value);
      const auto score = [&](std::size_t i, std::size_t j) {
        return factor * (loops::dot(q[i], k[j]) + loops::dot(q_rope[i], k_rope[j]));
      };
      heads = loops::beside(heads, loops::mixed(x.size(), v, keys.sees, score, loops::softmax));
    }
    return loops::linear(module, "out_proj", heads);
  };
}

loops::Subject subject(const Sizes& s, ParamMap more = {}, double scale = 0) {
  const auto number = [](std::size_t size) { return Value{static_cast<std::int64_t>(size)}; };
  ParamMap params{{"mask", Value{Mask::causal()}}, {"d_latent", number(s.latent)}, {"d_nope", number(s.nope)},
                  {"d_rope", number(s.rope)},      {"d_value", number(s.value)},   {"latent_norm", Value{s.norms}}};
  if (s.q_latent > 0) params.emplace_back("d_q_latent", number(s.q_latent));
  if (s.rope > 0) params.emplace_back("position", Value{rope(s.interleaved)});
  params.insert(params.end(), more.begin(), more.end());
  const auto n_heads = static_cast<std::int64_t>(s.heads);
  return {"latent", {.d_model = 6, .n_heads = n_heads, .n_kv_heads = n_heads, .d_head = 3}, params, latent(s, scale)};
}

TEST(Latent, WithEveryPartEqualsThePapersFormula) {
  for (const bool interleaved : {true, false}) {
    loops::expect_all(subject({.q_latent = 7, .rope = 2, .interleaved = interleaved}));
  }
}

TEST(Latent, WithAWiderRotatedPartAndItsOwnScaleEpsAndBiasEqualsTheFormula) {
  const Sizes sizes{.heads = 3, .rope = 6, .eps = 0.01};
  loops::expect_all(subject(sizes, {{"scale", Value{0.3}}, {"norm_eps", Value{0.01}}, {"out_bias", Value{true}}}, 0.3));
}

TEST(Latent, WithoutTheRotatedPartAndTheNormsIsThePlainForm) { loops::expect_all(subject({.norms = false})); }

TEST(Latent, WithoutTheRotatedPartKeepsItsNorms) { loops::expect_all(subject({.q_latent = 3})); }

TEST(Latent, WorksWithEveryMask) { loops::expect_masks(subject({.q_latent = 7, .rope = 2})); }

TEST(Latent, HasItsSlopesPastTheSizeOfATile) { loops::expect_past_a_tile(subject({.q_latent = 7, .rope = 2})); }

/// One token at a time is computed in the latent's space, parts by expanding it.
TEST(Latent, WithACacheEqualsTheWholeSequence) {
  loops::expect_cached(subject({.q_latent = 7, .rope = 2, .interleaved = true}));
  loops::expect_cached(subject({.norms = false}));
}

TEST(Latent, CarriedQueriesGiveTheSameWeights) {
  const auto layer = subject({.rope = 2}).make();
  const auto x = at::randn({1, 6, 6}, at::kDouble);
  const auto weights_of = [&](const at::Tensor& tokens, headwright::Cache* cache) {
    headwright::Recorder recorder;
    recorder.want("weights");
    layer->forward({.x = tokens, .recorder = &recorder, .cache = cache});
    return recorder.notes().at(0).value;  // (1, n_heads, seq, keys)
  };
  const auto whole = weights_of(x, nullptr);
  auto cache = layer->make_cache(1, 6);
  weights_of(x.slice(1, 0, 5), &cache);
  const auto last = weights_of(x.slice(1, 5), &cache);
  EXPECT_TRUE(last.allclose(whole.slice(2, 5), 0, 1e-12));
  EXPECT_TRUE(whole.sum(-1).allclose(at::ones({1, 2, 6}, at::kDouble)));
}

/// DeepSeek-V3's attention: 7168 wide, 128 heads.
std::shared_ptr<headwright::Attention> deepseek_v3() {
  const headwright::model::MetaMode meta;  // nothing is allocated
  const auto number = [](std::int64_t size) { return Value{size}; };
  return headwright::test::make<headwright::Attention>(
      "latent", {.d_model = 7168, .n_heads = 128, .n_kv_heads = 128, .d_head = 56},
      {{"mask", Value{Mask::causal()}},
       {"d_q_latent", number(1536)},
       {"d_latent", number(512)},
       {"d_nope", number(128)},
       {"d_rope", number(64)},
       {"d_value", number(128)},
       {"position", Value{rope(true)}}});
}

TEST(Latent, HasDeepSeekV3sParameters) {
  const auto layer = deepseek_v3();
  std::int64_t count = 0;
  for (const auto& parameter : layer->parameters()) count += parameter.numel();
  EXPECT_EQ(count, 187'107'328);
  const auto parameters = layer->named_parameters();
  const auto shape = [&](const std::string& name) { return parameters[name].sizes().vec(); };
  EXPECT_THAT(shape("q_a_proj.weight"), ElementsAre(1536, 7168));
  EXPECT_THAT(shape("q_a_norm.weight"), ElementsAre(1536));
  EXPECT_THAT(shape("q_b_proj.weight"), ElementsAre(128 * 192, 1536));
  EXPECT_THAT(shape("kv_a_proj.weight"), ElementsAre(576, 7168));
  EXPECT_THAT(shape("kv_a_norm.weight"), ElementsAre(512));
  EXPECT_THAT(shape("kv_b_proj.weight"), ElementsAre(128 * 256, 512));
  EXPECT_THAT(shape("out_proj.weight"), ElementsAre(7168, 128 * 128));
}

/// What the cache of an empty layer has room for.
std::int64_t numbers_per_token(const headwright::Attention& layer) {
  constexpr std::int64_t kBatch = 3, kCapacity = 1000;
  const headwright::model::MetaMode meta;
  const auto cache = layer.make_cache(kBatch, kCapacity);
  std::int64_t numbers = 0;
  for (const auto& [name, tensor] : cache.tensors) numbers += tensor.numel();
  return numbers / (kBatch * kCapacity);
}

TEST(Latent, Keeps576NumbersPerTokenWhereFullKeysAndValuesAre32768) {
  EXPECT_EQ(numbers_per_token(*deepseek_v3()), 576);
  const headwright::model::MetaMode meta;
  const auto full = headwright::test::make<headwright::Attention>(
      "softmax", {.d_model = 7168, .n_heads = 128, .n_kv_heads = 128, .d_head = 128},
      {{"mask", Value{Mask::causal()}}});
  EXPECT_EQ(numbers_per_token(*full), 32768);
}

TEST(Latent, TakesItsWidthsFromTheHeadWhereNoneAreGiven) {
  const auto layer = headwright::test::make<headwright::Attention>(
      "latent", {.d_model = 12, .n_heads = 3, .n_kv_heads = 3, .d_head = 4});
  const auto parameters = layer->named_parameters();
  EXPECT_THAT(parameters["kv_a_proj.weight"].sizes().vec(), ElementsAre(16, 12));
  EXPECT_THAT(parameters["q_proj.weight"].sizes().vec(), ElementsAre(12, 12));
  EXPECT_THAT(parameters["kv_b_proj.weight"].sizes().vec(), ElementsAre(24, 16));
}

TEST(Latent, RefusesWhatDoesNotFit) {
  const headwright::Dims dims{.d_model = 6, .n_heads = 2, .n_kv_heads = 2, .d_head = 3};
  const auto said = [&](const ParamMap& params) { return headwright::test::issues("latent", dims, params); };
  const auto number = [](std::int64_t size) { return Value{size}; };
  EXPECT_THAT(said({}), testing::IsEmpty());
  EXPECT_THAT(said({{"d_rope", number(2)}}), ElementsAre(HasSubstr("d_rope: got 2, but no position turns it")));
  EXPECT_THAT(said({{"position", Value{rope(true)}}}), ElementsAre(HasSubstr("nothing to turn without d_rope")));
  EXPECT_THAT(said({{"d_rope", number(3)}, {"position", Value{rope(true)}}}),
              ElementsAre(HasSubstr("position: partial_rotary_factor: turns the first 3 of d_head = 3 channels")));
  const Component alibi{.variant = &headwright::test::variant("alibi"), .values = {}};
  EXPECT_THAT(said({{"d_rope", number(2)}, {"position", Value{alibi}}}),
              ElementsAre(HasSubstr("got 'alibi', which does not rotate")));
  EXPECT_THAT(said({{"latent_norm", Value{false}}, {"norm_eps", Value{1e-5}}}),
              ElementsAre("norm_eps: has no effect without latent_norm"));
  EXPECT_THAT(headwright::test::issues("latent", {.d_model = 6, .n_heads = 2, .n_kv_heads = 1, .d_head = 3}),
              ElementsAre(HasSubstr("n_kv_heads: got 1, but latent has as many as n_heads = 2")));
}

TEST(Latent, ReportsTheKernelThatItIsComputedBy) {
  auto forced = subject({.rope = 2});
  for (const std::string kernel : {"sdpa", "reference"}) {
    forced.dims.kernel = kernel;
    EXPECT_EQ(forced.make()->kernel().effective, kernel);
    loops::expect_lengths(forced);
  }
}

TEST(Latent, DropsWeightsInTrainingAlone) {
  const auto layer = subject({}, {{"dropout", Value{0.5}}}).make();
  const auto x = at::randn({1, 9, 6}, at::kDouble);
  EXPECT_TRUE(layer->forward({.x = x}).equal(layer->forward({.x = x})));
  layer->train();
  EXPECT_FALSE(layer->forward({.x = x}).equal(layer->forward({.x = x})));
}

}  // namespace

// Embeddings and heads against loops over doubles, and against what each option says.
#include <gmock/gmock.h>

#include "headwright/embedding.h"
#include "headwright/head.h"
#include "headwright/shapes.h"
#include "helpers/variants.h"
#include "reference/loops.h"

namespace {

using headwright::Component;
using headwright::Dims;
using headwright::Embedding;
using headwright::Head;
using headwright::Inputs;
using headwright::ParamMap;
using headwright::Value;
using loops::Row;
using loops::Rows;
using testing::HasSubstr;

constexpr double kNoise = 1e-12;
constexpr std::int64_t kVocab = 7, kModel = 5;

Component component(const std::string& name, const ParamMap& values = {}) {
  Component made{.variant = &headwright::test::variant(name)};
  for (const auto& row : made.variant->params) {
    const auto given = std::ranges::find(values, row.name, &ParamMap::value_type::first);
    made.values.emplace_back(row.name, given == values.end() ? row.default_value : given->second);
  }
  return made;
}

template <class M>
std::shared_ptr<M> made(const std::string& name, const Dims& dims, const ParamMap& params) {
  at::manual_seed(5);
  auto module = headwright::test::make<M>(name, dims, params);
  module->to(at::kDouble);
  for (auto& parameter : module->parameters()) parameter.data().normal_();  // ones and zeros would hide a mistake
  module->eval();
  return module;
}

Rows matrix(const torch::nn::Module& module, const std::string& name) {
  return loops::rows_of(module.named_parameters()[name]);
}

Row vector(const torch::nn::Module& module, const std::string& name) { return matrix(module, name)[0]; }

void expect_equal(const at::Tensor& got, const Rows& expected) {
  const auto rows = loops::rows_of(got);
  ASSERT_EQ(rows.size(), expected.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    ASSERT_EQ(rows[i].size(), expected[i].size());
    for (std::size_t c = 0; c < rows[i].size(); ++c) EXPECT_NEAR(rows[i][c], expected[i][c], kNoise) << i << ", " << c;
  }
}

Row normed(Row x, const Row& weight, const Row& bias, double eps) {
  double mean = 0, variance = 0;
  for (const auto value : x) mean += value / static_cast<double>(x.size());
  for (const auto value : x) variance += (value - mean) * (value - mean) / static_cast<double>(x.size());
  for (std::size_t c = 0; c < x.size(); ++c) x[c] = (x[c] - mean) / std::sqrt(variance + eps) * weight[c] + bias[c];
  return x;
}

TEST(TokenEmbedding, WithEveryPartEqualsTheFormula) {
  constexpr std::int64_t kInner = 3, kOffset = 2;
  const auto module = made<Embedding>("token_embedding", {.d_model = kModel, .context_length = 6},
                                      {{"vocab_size", Value{kVocab}},
                                       {"d_embedding", Value{kInner}},
                                       {"projection_bias", Value{true}},
                                       {"scale", Value{1.5}},
                                       {"n_token_types", Value{std::int64_t{2}}},
                                       {"position", Value{component("learned")}},
                                       {"position_offset", Value{kOffset}},
                                       {"norm", Value{component("layer_norm")}}});
  const auto tokens = at::tensor({4, 0, 6}, at::kLong), types = at::tensor({0, 1, 1}, at::kLong);
  const auto positions = at::tensor({3, 0, 1}, at::kLong);
  const auto table = matrix(*module, "token.weight"), of_types = matrix(*module, "token_type.weight"),
             places = matrix(*module, "position.weight");
  EXPECT_EQ(places.size(), 8U);  // the offset has places of its own
  Rows expected;
  for (std::int64_t i = 0; i < 3; ++i) {
    const auto at = [&](const at::Tensor& ids) { return static_cast<std::size_t>(ids[i].item<std::int64_t>()); };
    Row sum(kInner);
    for (std::size_t c = 0; c < sum.size(); ++c) {
      sum[c] = 1.5 * table[at(tokens)][c] + of_types[at(types)][c] + places[at(positions) + kOffset][c];
    }
    expected.push_back(normed(sum, vector(*module, "norm.weight"), vector(*module, "norm.bias"), 1e-5));
  }
  expected = loops::linear(expected, matrix(*module, "projection.weight"), vector(*module, "projection.bias"));
  const auto y = module->forward(
      {.x = tokens.unsqueeze(0), .positions = positions.unsqueeze(0), .token_types = types.unsqueeze(0)});
  expect_equal(y[0], expected);
}

TEST(TokenEmbedding, LeavesOutWhatIsNotAskedFor) {
  const auto module = made<Embedding>("token_embedding", {.d_model = kModel}, {{"vocab_size", Value{kVocab}}});
  EXPECT_EQ(module->parameters().size(), 1U);
  const auto tokens = at::randint(0, kVocab, {2, 4});
  EXPECT_TRUE(at::equal(module->forward({.x = tokens}), at::embedding(module->matrix(), tokens)));
}

TEST(TokenEmbedding, CountsTypesFromZeroAndPositionsFromTheStart) {
  const ParamMap params{{"vocab_size", Value{kVocab}},
                        {"n_token_types", Value{std::int64_t{3}}},
                        {"position", Value{component("sinusoidal")}}};
  const auto module = made<Embedding>("token_embedding", {.d_model = kModel}, params);
  const auto tokens = at::randint(0, kVocab, {2, 4});
  const Inputs given{.x = tokens, .positions = at::arange(4), .token_types = at::zeros({2, 4}, at::kLong)};
  EXPECT_TRUE(at::equal(module->forward({.x = tokens}), module->forward(given)));
}

TEST(TokenEmbedding, SharesTheMatrixThatItIsGiven) {
  const auto module = headwright::test::make<Embedding>("token_embedding", {.d_model = kModel, .vocab_size = kVocab},
                                                        {{"tied", Value{true}}});
  const auto shared = at::randn({kVocab, kModel}).requires_grad_();
  module->tie(shared);
  EXPECT_TRUE(module->matrix().is_same(shared));
  EXPECT_TRUE(module->named_parameters()["token.weight"].is_same(shared));
}

TEST(PatchEmbedding, ProjectsEachPatchAndPutsTheClassTokenFirst) {
  constexpr std::int64_t kImage = 6, kPatch = 2, kChannels = 3, kSide = kImage / kPatch;
  const auto module = made<Embedding>(
      "patch_embedding", {.d_model = kModel},
      {{"image_size", Value{kImage}}, {"patch_size", Value{kPatch}}, {"position", Value{component("learned")}}});
  const auto image = at::randn({2, kChannels, kImage, kImage}, at::kDouble);
  const auto kernel = module->named_parameters()["projection.weight"].detach();
  const auto bias = vector(*module, "projection.bias"),
             token = loops::rows_of(module->named_parameters()["class_token"].view({1, kModel}))[0];
  const auto places = matrix(*module, "position.weight");
  ASSERT_EQ(places.size(), 1U + kSide * kSide);
  for (std::int64_t row = 0; row < 2; ++row) {
    Rows expected{token};
    for (std::int64_t patch = 0; patch < kSide * kSide; ++patch) {
      Row y = bias;
      for (std::int64_t o = 0; o < kModel; ++o) {
        for (std::int64_t channel = 0; channel < kChannels; ++channel) {
          for (std::int64_t i = 0; i < kPatch; ++i) {
            for (std::int64_t j = 0; j < kPatch; ++j) {
              y[static_cast<std::size_t>(o)] +=
                  kernel[o][channel][i][j].item<double>() *
                  image[row][channel][patch / kSide * kPatch + i][patch % kSide * kPatch + j].item<double>();
            }
          }
        }
      }
      expected.push_back(y);
    }
    for (std::size_t i = 0; i < expected.size(); ++i) {
      for (std::size_t c = 0; c < expected[i].size(); ++c) expected[i][c] += places[i][c];
    }
    expect_equal(module->forward({.x = image})[row], expected);
  }
}

TEST(PatchEmbedding, RefusesWhatDoesNotFit) {
  EXPECT_THAT(
      headwright::test::issues("patch_embedding", {.d_model = kModel},
                               {{"image_size", Value{std::int64_t{7}}}, {"patch_size", Value{std::int64_t{2}}}}),
      testing::Contains(HasSubstr("patch_size: got 2, which does not divide image_size = 7")));
  const auto module = made<Embedding>("patch_embedding", {.d_model = kModel},
                                      {{"image_size", Value{std::int64_t{4}}}, {"patch_size", Value{std::int64_t{2}}}});
  EXPECT_THROW(module->forward({.x = at::zeros({1, 3, 4, 6}, at::kDouble)}), headwright::ShapeError);
}

TEST(FeatureEmbedding, ProjectsEachVector) {
  const auto module = made<Embedding>("feature_embedding", {.d_model = kModel}, {{"d_in", Value{std::int64_t{4}}}});
  const auto x = at::randn({2, 3, 4}, at::kDouble);
  for (std::int64_t row = 0; row < 2; ++row) {
    expect_equal(module->forward({.x = x})[row],
                 loops::linear(loops::rows_of(x[row]), matrix(*module, "projection.weight"),
                               vector(*module, "projection.bias")));
  }
}

TEST(LatentEmbedding, GivesEachRowOfTheMemoryTheSameVectors) {
  const auto module = made<Embedding>("latent_embedding", {.d_model = kModel}, {{"n_latents", Value{std::int64_t{4}}}});
  const auto y = module->forward({.memory = at::randn({3, 6, 2}, at::kDouble)});
  ASSERT_EQ(y.sizes(), at::IntArrayRef({3, 4, kModel}));
  for (std::int64_t row = 0; row < 3; ++row) expect_equal(y[row], matrix(*module, "weight"));
  EXPECT_THROW(module->forward({}), headwright::ShapeError);
}

TEST(LinearHead, EqualsTheFormula) {
  const auto module = made<Head>("linear_head", {.d_model = kModel, .vocab_size = kVocab},
                                 {{"bias", Value{true}}, {"scale", Value{0.5}}, {"softcap", Value{2.0}}});
  const auto x = at::randn({2, 3, kModel}, at::kDouble);
  for (std::int64_t row = 0; row < 2; ++row) {
    auto expected = loops::linear(loops::rows_of(x[row]), matrix(*module, "weight"), vector(*module, "bias"));
    for (auto& scores : expected) {
      for (auto& score : scores) score = 2.0 * std::tanh(score * 0.5 / 2.0);
    }
    expect_equal(module->forward({.x = x})[row], expected);
  }
}

TEST(LinearHead, SharesTheMatrixThatItIsGiven) {
  for (const auto* name : {"linear_head", "masked_lm_head"}) {
    const auto module =
        headwright::test::make<Head>(name, {.d_model = kModel, .vocab_size = kVocab}, {{"tied", Value{true}}});
    const auto shared = at::randn({kVocab, kModel}).requires_grad_();
    module->tie(shared);
    EXPECT_TRUE(module->named_parameters()["weight"].is_same(shared)) << name;
    module->forward({.x = at::randn({1, 2, kModel})}).sum().backward();
    EXPECT_TRUE(shared.grad().defined()) << name;
  }
}

TEST(MaskedLmHead, EqualsTheFormula) {
  const auto module = made<Head>("masked_lm_head", {.d_model = kModel, .vocab_size = kVocab},
                                 {{"tied", Value{false}}, {"norm", Value{component("layer_norm")}}});
  const auto x = at::randn({1, 3, kModel}, at::kDouble);
  auto hidden = loops::linear(loops::rows_of(x[0]), matrix(*module, "dense.weight"), vector(*module, "dense.bias"));
  for (auto& row : hidden) {
    for (auto& value : row) value *= 0.5 * (1 + std::erf(value / std::sqrt(2.0)));
    row = normed(row, vector(*module, "norm.weight"), vector(*module, "norm.bias"), 1e-5);
  }
  expect_equal(module->forward({.x = x})[0], loops::linear(hidden, matrix(*module, "weight"), vector(*module, "bias")));
}

TEST(PooledHead, TakesTheTokenThatStandsForTheSequence) {
  const auto x = at::randn({3, 4, kModel}, at::kDouble);
  auto visible = at::ones({3, 4}, at::kBool);
  visible[0][0].fill_(false);           // padded on the left
  visible[1].slice(0, 2).fill_(false);  // on the right
  visible[2].fill_(false);              // nothing is left
  const auto pooled = [&](const char* pool) {
    return made<Head>("pooled_head", {.d_model = kModel},
                      {{"pool", Value{std::string(pool)}}, {"tanh_layer", Value{false}}})
        ->forward({.x = x, .key_mask = visible});
  };
  const auto zeros = at::zeros({kModel}, at::kDouble);
  EXPECT_TRUE(at::equal(pooled("first"), at::stack({x[0][1], x[1][0], zeros})));
  EXPECT_TRUE(at::equal(pooled("last"), at::stack({x[0][3], x[1][1], zeros})));
  EXPECT_TRUE(at::allclose(pooled("mean"), at::stack({x[0].slice(0, 1).mean(0), x[1].slice(0, 0, 2).mean(0), zeros})));
}

TEST(PooledHead, PassesItThroughTanhAndToTheOutputs) {
  const auto module = made<Head>("pooled_head", {.d_model = kModel}, {{"d_out", Value{std::int64_t{2}}}});
  const auto x = at::randn({2, 3, kModel}, at::kDouble);
  auto hidden =
      loops::linear(loops::rows_of(x.select(1, 0)), matrix(*module, "dense.weight"), vector(*module, "dense.bias"));
  for (auto& row : hidden) {
    for (auto& value : row) value = std::tanh(value);
  }
  expect_equal(module->forward({.x = x}),
               loops::linear(hidden, matrix(*module, "out_proj.weight"), vector(*module, "out_proj.bias")));
}

}  // namespace

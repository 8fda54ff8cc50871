// The cache of a model: every attention has its own, positions follow from it, rows come and go.
#include <ATen/ATen.h>
#include <gmock/gmock.h>

#include "headwright/errors.h"
#include "helpers/configs.h"
#include "helpers/temporary_folder.h"
#include "model/build.h"

namespace headwright::model {
namespace {

using testing::HasSubstr;

std::string model_text(const std::string& attention, const std::string& position = "learned") {
  return "name: m\nmodel:\n  d_model: 8\n  n_heads: 4\n  n_kv_heads: 2\n  context_length: 32\n"
         "  positions: {count: visible}\n"
         "  embedding: {vocab_size: 11, position: " +
         position + "}\n  blocks:\n    b: {norm: layer_norm, attention: " + attention +
         ", feed_forward: relu}\n  layers: [{use: b, repeat: 2}]\n  head: {tied: true}\n";
}

double largest(const at::Tensor& a, const at::Tensor& b) { return (a - b).abs().max().item<double>(); }

/// The outputs of pieces of the sequence, joined.
at::Tensor in_pieces(Model& model, const Inputs& inputs, ModelCache& cache, const std::vector<std::int64_t>& lengths) {
  std::vector<at::Tensor> parts;
  std::int64_t begin = 0;
  for (const auto length : lengths) {
    auto piece = inputs;
    piece.x = inputs.x.slice(1, begin, begin + length);
    if (piece.key_mask.defined()) piece.key_mask = piece.key_mask.slice(1, 0, begin + length);
    parts.push_back(model.forward(piece, &cache));
    begin += length;
  }
  return at::cat(parts, 1);
}

TEST(ModelCache, ContinuesASequenceForEveryWayToTellPositions) {
  for (const auto* attention :
       {"{name: softmax, mask: causal}", "{name: softmax, mask: {window: 4}}", "{name: softmax, mask: {window: 1}}",
        "{name: softmax, mask: causal, position: rope}", "{name: softmax, mask: causal, position: alibi}",
        "{name: softmax, mask: {window: 5}, position: relative_bias}",
        "{name: softmax, mask: {all: [causal, {any: [{window: 3}, {strided: 2}]}]}}"}) {
    for (const auto* position : {"learned", "sinusoidal"}) {
      SCOPED_TRACE(std::string(attention) + " " + position);
      const auto model = build(test::plan_of(model_text(attention, position)));
      const at::NoGradGuard no_grad;
      Inputs inputs{.x = at::randint(0, 11, {2, 21})};
      for (const bool padded : {false, true}) {
        if (padded) {
          inputs.key_mask = at::ones({2, 21}, at::kBool);
          inputs.key_mask.select(0, 0).slice(0, 0, 6).fill_(false);
        }
        const auto whole = model->forward(inputs);
        for (const auto& lengths : {std::vector<std::int64_t>(21, 1), std::vector<std::int64_t>{9, 1, 1, 10}}) {
          auto cache = model->make_cache(2, 21);
          auto far = (in_pieces(*model, inputs, cache, lengths) - whole).abs();
          if (padded) far = far.masked_fill(inputs.key_mask.logical_not().unsqueeze(-1), 0);
          EXPECT_LE(far.max().item<double>(), 2e-5);
        }
      }
    }
  }
}

TEST(ModelCache, OfAWindowKeepsNoMoreThanTheWindow) {
  const auto model = build(test::plan_of(model_text("{name: softmax, mask: {window: 5}}")));
  auto cache = model->make_cache(3, 1000);
  EXPECT_EQ(cache.layers.at("blocks.1.attention").at("k").size(2), 4);  // the new token brings the fifth
  EXPECT_EQ(build(test::plan_of(model_text("{name: softmax, mask: causal}")))
                ->make_cache(3, 10)
                .layers.at("blocks.0.attention")
                .at("k")
                .size(2),
            10);
}

TEST(ModelCache, KeepsTheRowsThatAreChosenInTheirOrder) {
  const auto model = build(test::plan_of(model_text("{name: softmax, mask: causal, position: rope}")));
  const at::NoGradGuard no_grad;
  const auto tokens = at::randint(0, 11, {3, 8});
  auto cache = model->make_cache(3, 8);
  model->forward({.x = tokens.slice(1, 0, 5)}, &cache);
  const auto rows = at::tensor({2, 0}, at::kLong);
  cache.keep_rows(rows);
  const auto chosen = tokens.index_select(0, rows);
  const auto y = model->forward({.x = chosen.slice(1, 5)}, &cache);
  EXPECT_LE(largest(y, model->forward({.x = chosen}).slice(1, 5)), 1e-5);
  EXPECT_THAT(test::message_of<InputError>([&] { cache.keep_rows(at::tensor({2}, at::kLong)); }),
              HasSubstr("outside of 0 to 1"));
}

TEST(ModelCache, RefusesMoreThanItsCapacityAndModelsThatReadWholeSequences) {
  const auto model = build(test::plan_of(model_text("{name: softmax, mask: causal}")));
  const at::NoGradGuard no_grad;
  auto cache = model->make_cache(2, 4);
  EXPECT_THAT(test::message_of<ShapeError>([&] { model->forward({.x = at::zeros({2, 5}, at::kLong)}, &cache); }),
              HasSubstr("at most 4 tokens more: the capacity is 4"));
  const auto whole = build(test::plan_of(model_text("softmax")));
  EXPECT_THAT(test::message_of<Error>([&] { whole->make_cache(1, 4); }),
              HasSubstr("blocks.0.attention ('softmax'), blocks.1.attention ('softmax')"));
}

TEST(ModelCache, SaysWhatItTakes) {
  const auto plan = test::shipped_plan("models/gpt2_small.yaml");
  const auto cache = measure(plan).cache;
  ASSERT_TRUE(cache);
  EXPECT_EQ(cache->per_token, 73728);
  EXPECT_EQ(cache->whole, 73728 * 1024);
  EXPECT_EQ(cache->fixed, 0);
}

TEST(ModelCache, EncodesTheMemoryOnce) {
  const auto model = build(test::shipped_plan("models/encoder_decoder.yaml"));
  const at::NoGradGuard no_grad;
  Inputs inputs{.x = at::randint(0, 90, {2, 6}), .memory = at::randint(0, 90, {2, 7})};
  const auto whole = model->forward(inputs);
  auto cache = model->make_cache(2, 6);
  const auto first = model->forward({.x = inputs.x.slice(1, 0, 4), .memory = inputs.memory}, &cache);
  const auto rest = model->forward({.x = inputs.x.slice(1, 4)}, &cache);
  EXPECT_LE(largest(at::cat({first, rest}, 1), whole), 1e-5);
}

}  // namespace
}  // namespace headwright::model

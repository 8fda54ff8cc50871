// The long form of a block: an order that no shipped config has computes the same eager, exported and cached.
#include <ATen/ATen.h>
#include <gmock/gmock.h>

#include "exporter/script.h"
#include "exporter/verify.h"
#include "helpers/configs.h"
#include "model/build.h"

namespace headwright::model {
namespace {

using testing::HasSubstr;

/// Gemma's norms around a windowed attention, two feed-forward layers on the block's input, one of them scaled, a norm
/// after a sum, and a layer that stands for its output alone.
constexpr auto kModel = R"(name: long
model:
  d_model: 8
  n_heads: 2
  context_length: 24
  embedding: {vocab_size: 11, position: learned}
  blocks:
    odd:
      sublayers:
        - {attention: {name: softmax, mask: {window: 3}}, norm: rms_norm, output_norm: layer_norm}
        - {name: wide, feed_forward: {name: relu, d_ff: 12}, norm: layer_norm, input: block, residual_scale: 0.5}
        - {name: narrow, feed_forward: {name: swiglu, d_ff: 4}, shared_norm: wide, input: block, residual_norm: rms_norm}
        - {name: last, attention: {name: softmax, mask: causal, position: rope}, residual: false}
  layers: [{use: odd, repeat: 2}]
  head: {tied: true}
)";

at::Tensor by_hand(const Block& block, const at::Tensor& input) {
  const auto &attention = block.sublayer("attention"), &wide = block.sublayer("wide"),
             &narrow = block.sublayer("narrow"), &last = block.sublayer("last");
  auto x = input + attention.output_norm->forward(attention.attention->forward({.x = attention.norm->forward(input)}));
  const auto normed = wide.norm->forward(input);
  x = x + wide.feed_forward->forward(normed) * 0.5;
  x = narrow.residual_norm->forward(x + narrow.feed_forward->forward(normed));
  return last.attention->forward({.x = x});
}

TEST(Sublayers, AreWhatTheirRowsSay) {
  const auto model = build(test::plan_of(kModel));
  const at::NoGradGuard no_grad;
  const auto x = at::randn({2, 7, 8});
  EXPECT_TRUE(at::equal(model->blocks[0]->forward({.x = x}), by_hand(*model->blocks[0], x)));
}

TEST(Sublayers, AreExportedByTheSameWalk) {
  const auto plan = test::plan_of(kModel);
  const auto model = build(plan);
  const at::NoGradGuard no_grad;
  const auto script = exporter::make_script(*model, plan, {2, 6, 0});
  for (const auto& check : exporter::verify(script, *model, plan, {{1, 1, 0}, {3, 7, 0}, {2, 24, 0}})) {
    EXPECT_LE(check.max_abs_error, 1e-6);
  }
}

TEST(Sublayers, ContinueFromACache) {
  const auto model = build(test::plan_of(kModel));
  const at::NoGradGuard no_grad;
  const auto tokens = at::randint(0, 11, {2, 24});
  const auto whole = model->forward({.x = tokens});
  auto cache = model->make_cache(2, 24);
  for (std::int64_t i = 0; i < 24; ++i) {
    const auto y = model->forward({.x = tokens.slice(1, i, i + 1)}, &cache);
    EXPECT_LE((y - whole.slice(1, i, i + 1)).abs().max().item<double>(), 1e-5) << i;
  }
  EXPECT_EQ(cache.tokens(), 24);
}

TEST(Sublayers, MayBeOneSharedModule) {
  const auto shared = test::plan_of(kModel, {"model.layers=[{use: odd, repeat: 3, shared: true}]"});
  const auto once = test::plan_of(kModel, {"model.layers=[odd]"});
  EXPECT_EQ(measure(shared).parameters, measure(once).parameters);
  const auto model = build(shared);
  EXPECT_EQ(model->blocks[2], model->blocks[0]);
  const at::NoGradGuard no_grad;
  const auto x = at::randint(0, 11, {2, 5});
  auto y = model->embedding->forward({.x = x});
  for (int i = 0; i < 3; ++i) y = by_hand(*model->blocks[0], y);
  EXPECT_TRUE(at::equal(model->forward({.x = x}), model->head->forward({.x = y})));
  const auto script = exporter::make_script(*model, shared, {2, 6, 0});
  exporter::verify(script, *model, shared, {{3, 7, 0}});
  auto cache = model->make_cache(1, 5);
  EXPECT_EQ(cache.layers.size(), 6U);  // two attentions in each of three layers
}

TEST(Sublayers, RefuseWhatHasNoMeaning) {
  const auto problems = [](const std::string& entry) {
    return test::problems_of(kModel, {"model.blocks.odd.sublayers=[" + entry + "]"});
  };
  EXPECT_THAT(problems("{norm: rms_norm}"), HasSubstr("sublayers.0: got none, expected exactly one of attention"));
  EXPECT_THAT(problems("{attention: softmax, feed_forward: relu}"), HasSubstr("got attention and feed_forward"));
  EXPECT_THAT(problems("{feed_forward: relu, residual: false, residual_scale: 2.0}"),
              HasSubstr("residual_scale: has no place without a residual"));
  EXPECT_THAT(problems("{feed_forward: relu}, {feed_forward: relu}"),
              HasSubstr("sublayers.1.name: got feed_forward, as an earlier sublayer is called"));
  EXPECT_THAT(problems("{feed_forward: relu, shared_norm: other}"), HasSubstr("which is no earlier sublayer"));
  EXPECT_THAT(problems("{feed_forward: relu, nrm: rms_norm}"), HasSubstr("did you mean 'norm'?"));
  EXPECT_THAT(test::problems_of(kModel, {"model.blocks.odd.norm=rms_norm"}),
              HasSubstr("model.blocks.odd.norm: has no place beside sublayers"));
}

}  // namespace
}  // namespace headwright::model

// Configs become plans, with every default filled in and every fault reported.
#include "bind/resolve.h"

#include <gmock/gmock.h>

#include "helpers/configs.h"

namespace headwright::bind {
namespace {

using test::plan_of;
using test::problems_of;
using testing::HasSubstr;

constexpr auto kLayer = R"(name: layer
model:
  d_model: 8
  n_heads: 2
  blocks:
    only: { order: plain, attention: softmax }
)";

constexpr auto kStack = R"(name: stack
model:
  d_model: 8
  n_heads: 4
  n_kv_heads: 2
  context_length: 16
  embedding: { vocab_size: 11, position: learned }
  blocks:
    local: { norm: rms_norm, attention: { name: softmax, mask: { window: 3 } }, feed_forward: relu }
    global: { norm: rms_norm, attention: { name: softmax, mask: causal }, n_heads: 2 }
  layers: [{ pattern: [local, local, global], repeat: 2 }, local]
  final_norm: layer_norm
  head: { tied: true }
)";

TEST(Resolve, FillsInEveryDefault) {
  const auto plan = plan_of(kLayer);
  EXPECT_EQ(plan.name, "layer");
  ASSERT_EQ(plan.model.blocks.size(), 1U);
  const auto& block = plan.model.blocks[0];
  ASSERT_EQ(block.sublayers.size(), 1U);
  const auto& sublayer = block.sublayers[0];
  EXPECT_FALSE(sublayer.residual);
  EXPECT_EQ(sublayer.dims.d_head, 4);
  EXPECT_EQ(sublayer.dims.n_kv_heads, 2);
  EXPECT_EQ(sublayer.dims.kernel, "auto");
  EXPECT_EQ(block.d_out, 8);
  EXPECT_EQ(plan.run.seed, 123);
}

TEST(Resolve, ExpandsPatternsAndRepeats) {
  const auto plan = plan_of(kStack);
  std::string names;
  for (const auto& block : plan.model.blocks) names += block.name[0];
  EXPECT_EQ(names, "llgllgl");
  EXPECT_EQ(plan.model.blocks[6].sublayers[0].dims.layer, 6);
  EXPECT_EQ(plan.model.blocks[6].sublayers[0].dims.n_layers, 7);
  EXPECT_EQ(plan.model.d_out, 11);
}

TEST(Resolve, LetsABlockHaveItsOwnHeads) {
  const auto plan = plan_of(kStack);
  EXPECT_EQ(plan.model.blocks[0].sublayers[0].dims.n_kv_heads, 2);
  EXPECT_EQ(plan.model.blocks[2].sublayers[0].dims.n_heads, 2);
  EXPECT_EQ(plan.model.blocks[2].sublayers[0].dims.n_kv_heads, 2);
  EXPECT_EQ(plan.model.blocks[2].sublayers[0].dims.d_head, 4);
}

TEST(Resolve, FollowsTheWidthFromLayerToLayer) {
  const auto plan = plan_of(R"(name: narrowing
model:
  d_model: 3
  blocks:
    first: { order: plain, attention: { name: self_attention_v2, d_out: 2 } }
    second: { order: plain, feed_forward: relu }
  layers: [first, second]
)");
  EXPECT_EQ(plan.model.blocks[1].dims.d_model, 2);
  EXPECT_EQ(plan.model.d_out, 2);
}

TEST(Resolve, ReportsSixFaultsAtSixLevelsInOneRun) {
  const auto text = problems_of(R"(nam: wrong
model:
  d_model: eight
  n_heads: 2
  blocks:
    dense:
      ordr: plain
      norm: layer_norm
      attention: { name: softmax, mask: { windw: 3 } }
      feed_forward: { name: gelu, d_f: 4 }
run: { dtype: float31 }
)");
  EXPECT_THAT(text, HasSubstr("a.yaml:1:1: nam: unknown key"));
  EXPECT_THAT(text, HasSubstr("a.yaml:3:12: model.d_model: got eight"));
  EXPECT_THAT(text, HasSubstr("a.yaml:7:7: model.blocks.dense.ordr: unknown key"));
  EXPECT_THAT(text, HasSubstr("did you mean 'order'?"));
  EXPECT_THAT(text, HasSubstr("a.yaml:9:43: model.blocks.dense.attention.mask: no mask is called 'windw'"));
  EXPECT_THAT(text, HasSubstr("a.yaml:10:35: model.blocks.dense.feed_forward.d_f: unknown parameter of 'gelu'"));
  EXPECT_THAT(text, HasSubstr("a.yaml:11:15: run.dtype: got float31, expected one of"));
}

TEST(Resolve, TellsOtherLibrariesNames) {
  EXPECT_THAT(problems_of(kLayer, {"model.num_heads=2"}), HasSubstr("did you mean 'n_heads'?"));
  EXPECT_THAT(problems_of(kLayer, {"model.n_embd=8"}), HasSubstr("did you mean 'd_model'?"));
  EXPECT_THAT(problems_of(kLayer, {"hidden_size=8"}), HasSubstr("'d_model' belongs under model"));
}

TEST(Resolve, TellsWhereAKeyOfTheWrongLevelBelongs) {
  EXPECT_THAT(problems_of(kLayer, {"n_heads=2"}), HasSubstr("'n_heads' belongs under model"));
  EXPECT_THAT(problems_of(kLayer, {"model.blocks.only.qkv_bias=true"}),
              HasSubstr("'qkv_bias' is a parameter of 'softmax' and belongs under attention"));
}

TEST(Resolve, ReportsSizesThatDoNotFitWhereTheyStand) {
  EXPECT_THAT(problems_of(kLayer, {"model.n_heads=3"}),
              HasSubstr("a.yaml:3:12: model.d_model: got 8, but n_heads = 3 does not divide it"));
  EXPECT_THAT(problems_of(kStack, {"model.blocks.local.n_kv_heads=3"}),
              HasSubstr("a.yaml:4:12: model.n_heads: got 4, but n_kv_heads = 3 does not divide it"));
}

TEST(Resolve, RefusesABlockThatNoLayerUses) {
  EXPECT_THAT(problems_of(kStack, {"model.layers=[local]"}),
              HasSubstr("model.blocks.global: is defined, but no layer uses it"));
}

TEST(Resolve, RefusesAResidualAcrossWidths) {
  EXPECT_THAT(
      problems_of(kLayer, {"model.blocks.only={norm: layer_norm, attention: {name: self_attention_v2, d_out: 2}}"}),
      HasSubstr("hands on width 2, but a residual needs d_model = 8"));
}

TEST(Resolve, RefusesAPositionThatCannotDoWhatItIsAskedFor) {
  EXPECT_THAT(problems_of(kLayer, {"model.blocks.only.attention.position=learned", "model.context_length=4"}),
              HasSubstr("model.blocks.only.attention.position: "));
}

TEST(Resolve, ChecksTokenIdsOneByOne) {
  EXPECT_THAT(problems_of(kStack, {"input.tokens=[[1, 2], [3, 11]]"}),
              HasSubstr("input.tokens.1.1: got token id 11, expected 0 to 10"));
  EXPECT_THAT(problems_of(kStack, {"input.tokens=[[1, 2], [3]]"}),
              HasSubstr("input.tokens.1: got 1 elements, expected 2"));
}

TEST(Resolve, RefusesAForcedKernelThatNoLayerCanUse) {
  EXPECT_THAT(problems_of(kLayer, {"model.blocks.only.attention={name: self_attention_v2}", "run.kernel=sdpa"}),
              HasSubstr("run.kernel: has no effect"));
  EXPECT_THAT(problems_of(kLayer, {"run.kernel=sdp"}), HasSubstr("did you mean 'sdpa'?"));
}

TEST(Resolve, KnowsWhereEachResolvedValueComesFrom) {
  const auto plan = plan_of(kLayer, {"run.seed=7"});
  EXPECT_EQ(plan.resolved.find("run")->find("seed")->mark.file, "--set run.seed=7");
  EXPECT_EQ(plan.resolved.find("model")->find("d_model")->mark.line, 3);
  const auto* attention = plan.resolved.find("model")->find("blocks")->find("only")->find("attention");
  EXPECT_EQ(attention->find("dropout")->mark.file, "default");
}

TEST(Resolve, ResolvedConfigsResolveToTheSamePlan) {
  for (const auto& path : test::shipped_configs()) {
    const auto plan = resolve(spec::load(path), test::shipped_plugins());
    const auto again = resolve(plan.resolved, test::shipped_plugins());
    EXPECT_EQ(again.model.blocks.size(), plan.model.blocks.size()) << path;
    EXPECT_EQ(again.model.d_out, plan.model.d_out) << path;
    EXPECT_EQ(again.run.seed, plan.run.seed) << path;
    EXPECT_EQ(again.input.x.shape, plan.input.x.shape) << path;
  }
}

}  // namespace
}  // namespace headwright::bind

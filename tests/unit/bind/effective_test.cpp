// Optional parameters that are left out: the resolved config shows what is computed with, and reads back to the same.
#include "bind/effective.h"

#include <gmock/gmock.h>

#include "helpers/configs.h"
#include "spec/emit.h"

namespace headwright::bind {
namespace {

using test::plan_of;

constexpr auto kModel = R"(name: m
model:
  d_model: 8
  n_heads: 2
  context_length: 16
  embedding: {vocab_size: 11, position: learned}
  blocks:
    a:
      norm: {name: layer_norm, affine: false}
      attention:
        name: softmax
        position: {name: rope, scaling: yarn, factor: 4, original_context_length: 16}
      feed_forward: {name: gelu, d_ff: null}
    b: {norm: layer_norm, attention: {name: differential, scale: 0.75}}
  layers: [{use: a, repeat: 2}, {use: b, repeat: 2}]
  final_norm: layer_norm
)";

/// "0.5 (computed)"
std::string at(const Plan& plan, const std::string& path) {
  const spec::Node* node = plan.resolved.find("model");
  std::size_t begin = 0;
  while (node != nullptr && begin <= path.size()) {
    const auto end = std::min(path.find('.', begin), path.size());
    node = node->find(path.substr(begin, end - begin));
    begin = end + 1;
  }
  return node == nullptr ? "nothing" : spec::emit_flow(*node) + " (" + node->mark.file + ")";
}

TEST(Effective, StandsInTheResolvedConfigAndSaysThatItIsComputed) {
  const auto plan = plan_of(kModel);
  const std::string rope = "blocks.a.attention.position.";
  EXPECT_EQ(at(plan, rope + "beta_fast"), "32 (computed)");
  EXPECT_EQ(at(plan, rope + "beta_slow"), "1 (computed)");
  EXPECT_EQ(at(plan, rope + "ramp"), "turns (computed)");
  EXPECT_EQ(at(plan, rope + "attention_factor"), "1.138629436111989 (computed)");
  EXPECT_EQ(at(plan, rope + "low_freq_factor"), "null (default)");
  EXPECT_EQ(at(plan, rope + "factor"), "4 (a.yaml)");
  EXPECT_EQ(at(plan, "blocks.a.attention.scale"), "0.5 (computed)");
  EXPECT_EQ(at(plan, "blocks.a.feed_forward.d_ff"), "32 (computed)");  // though null is written
  EXPECT_EQ(at(plan, "blocks.a.norm.bias"), "false (computed)");
  EXPECT_EQ(at(plan, "final_norm.bias"), "true (computed)");
  EXPECT_EQ(at(plan, "blocks.b.attention.scale"), "0.75 (a.yaml)");
}

TEST(Effective, StaysNullWhereLayersOfABlockDiffer) {
  EXPECT_EQ(at(plan_of(kModel), "blocks.b.attention.lambda_init"), "null (computed, for each layer by itself)");
  EXPECT_THAT(at(plan_of(kModel, {"model.layers=[{use: a, repeat: 2}, b]"}), "blocks.b.attention.lambda_init"),
              testing::MatchesRegex("0\\.47071301834.* .computed."));
}

TEST(Effective, IsNoneUnderALearnedScale) {
  EXPECT_EQ(at(plan_of(kModel, {"model.blocks.a.attention.qk_norm=l2"}), "blocks.a.attention.scale"), "null (default)");
}

/// Every shipped config, resolved, written, and resolved again.
TEST(Effective, ReadsBackToTheSame) {
  for (const auto& file : test::shipped_configs()) {
    SCOPED_TRACE(file);
    const auto text = spec::emit(resolve(spec::load(file), test::shipped_plugins()).resolved);
    const auto again = resolve(spec::parse(text, file.string()), test::shipped_plugins());
    EXPECT_EQ(spec::emit(again.resolved), text);
  }
}

}  // namespace
}  // namespace headwright::bind

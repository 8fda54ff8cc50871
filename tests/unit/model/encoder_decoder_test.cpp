// An encoder-decoder model is its encoder by hand and its decoder by hand, in every order that has the slot.
#include <ATen/ATen.h>
#include <gmock/gmock.h>

#include "helpers/configs.h"
#include "model/build.h"

namespace headwright::model {
namespace {

constexpr auto kModel = R"(name: m
model:
  d_model: 8
  n_heads: 2
  context_length: 12
  embedding: {vocab_size: 11, position: sinusoidal}
  encoder:
    d_model: 6
    n_heads: 3
    embedding: {vocab_size: 7, position: sinusoidal}
    blocks: {b: {norm: layer_norm, attention: softmax, feed_forward: relu}}
    layers: [{use: b, repeat: 2}]
    final_norm: rms_norm
  blocks:
    b: {norm: layer_norm, attention: {name: softmax, mask: causal}, cross_attention: softmax, feed_forward: relu}
  layers: [{use: b, repeat: 2}]
  final_norm: layer_norm
  head: {tied: true}
)";

constexpr auto kTied = R"(name: m
model:
  d_model: 8
  n_heads: 2
  embedding: {vocab_size: 11}
  encoder:
    embedding: {tied: true}
    blocks: {b: {order: plain, attention: softmax}}
  blocks: {b: {order: plain, cross_attention: softmax}}
  head: {tied: true}
)";

/// The decoder's layer b on x, from its parts. order: where the norms and residuals stand.
at::Tensor by_hand(Block& b, bind::Order order, at::Tensor x, const Inputs& inputs) {
  const auto own = [&](const at::Tensor& given) {
    return b.attention->forward({.x = given, .key_mask = inputs.key_mask});
  };
  const auto cross = [&](const at::Tensor& given) {
    return b.cross_attention->forward({.x = given, .memory = inputs.memory, .memory_mask = inputs.memory_mask});
  };
  switch (order) {
    case bind::Order::pre_norm:
      x = x + own(b.attention_norm->forward(x));
      x = x + cross(b.cross_attention_norm->forward(x));
      return x + b.feed_forward->forward(b.feed_forward_norm->forward(x));
    case bind::Order::post_norm:
      x = b.attention_norm->forward(x + own(x));
      x = b.cross_attention_norm->forward(x + cross(x));
      return b.feed_forward_norm->forward(x + b.feed_forward->forward(x));
    default:
      return b.feed_forward->forward(cross(own(x)));
  }
}

Inputs inputs_for() {
  at::manual_seed(3);
  Inputs inputs{.x = at::randint(0, 11, {2, 5}), .memory = at::randint(0, 7, {2, 4})};
  inputs.key_mask = at::tensor({1, 1, 1, 1, 1, 1, 1, 1, 0, 0}).view({2, 5}).to(at::kBool);
  inputs.memory_mask = at::tensor({1, 1, 0, 1, 1, 0, 0, 0}).view({2, 4}).to(at::kBool);
  return inputs;
}

TEST(EncoderDecoder, IsItsEncoderByHandAndItsDecoderByHand) {
  for (const auto& [order, name] : {std::pair{bind::Order::pre_norm, "pre_norm"},
                                    {bind::Order::post_norm, "post_norm"},
                                    {bind::Order::plain, "plain"}}) {
    SCOPED_TRACE(name);
    std::vector<std::string> overrides{"model.blocks.b.order=" + std::string(name)};
    if (order == bind::Order::plain) overrides.emplace_back("model.blocks.b.norm=null");
    const auto model = build(test::plan_of(kModel, overrides));
    const at::NoGradGuard no_grad;
    auto inputs = inputs_for();
    const auto y = model->forward(inputs);

    auto& encoder = *model->encoder;
    auto memory = encoder.embedding->forward(inputs.memory, {});
    for (const auto& b : encoder.blocks) {
      memory =
          memory + b->attention->forward({.x = b->attention_norm->forward(memory), .key_mask = inputs.memory_mask});
      memory = memory + b->feed_forward->forward(b->feed_forward_norm->forward(memory));
    }
    inputs.memory = encoder.final_norm->forward(memory);
    EXPECT_EQ(inputs.memory.sizes(), at::IntArrayRef({2, 4, 6}));
    auto x = model->embedding->forward(inputs.x, {});
    for (const auto& b : model->blocks) x = by_hand(*b, order, x, inputs);
    EXPECT_TRUE(at::equal(y, model->head->forward(model->final_norm->forward(x))));
  }
}

TEST(EncoderDecoder, HiddenMemoryHasNoInfluenceAndTheVisibleHas) {
  const auto model = build(test::plan_of(kModel));
  const at::NoGradGuard no_grad;
  const auto inputs = inputs_for();
  const auto y = model->forward(inputs);
  auto changed = inputs;
  changed.memory = at::where(inputs.memory_mask, inputs.memory, 6 - inputs.memory);
  EXPECT_TRUE(at::equal(model->forward(changed), y));
  changed.memory = at::where(inputs.memory_mask, 6 - inputs.memory, inputs.memory);
  EXPECT_FALSE(at::allclose(model->forward(changed), y));
}

TEST(EncoderDecoder, AMemoryThatIsHiddenAltogetherGivesFiniteOutputsAndGradients) {
  const auto model = build(test::plan_of(kModel));
  auto inputs = inputs_for();
  inputs.memory_mask = at::zeros({2, 4}, at::kBool);
  inputs.key_mask = at::Tensor();
  const auto y = model->forward(inputs);
  EXPECT_TRUE(y.isfinite().all().item<bool>());
  y.sum().backward();
  for (const auto& item : model->named_parameters()) {
    const auto& gradient = item.value().grad();
    ASSERT_TRUE(gradient.defined()) << item.key();
    EXPECT_TRUE(gradient.isfinite().all().item<bool>()) << item.key();
  }
}

TEST(EncoderDecoder, PassesNotesOfTheEncoderUnderItsPath) {
  const auto model = build(test::plan_of(kModel));
  Recorder recorder;
  recorder.want("weights");
  auto inputs = inputs_for();
  inputs.recorder = &recorder;
  const at::NoGradGuard no_grad;
  model->forward(inputs);
  std::vector<std::string> paths;
  for (const auto& note : recorder.notes()) paths.push_back(note.path);
  EXPECT_THAT(paths,
              testing::ElementsAre("encoder.blocks.0.attention", "encoder.blocks.1.attention", "blocks.0.attention",
                                   "blocks.0.cross_attention", "blocks.1.attention", "blocks.1.cross_attention"));
}

TEST(EncoderDecoder, ReportsAKernelForEveryAttention) {
  std::vector<std::string> paths;
  for (const auto& [path, choice] : measure(test::plan_of(kModel)).kernels) paths.push_back(path);
  EXPECT_THAT(paths,
              testing::ElementsAre("encoder.blocks.0.attention", "encoder.blocks.1.attention", "blocks.0.attention",
                                   "blocks.0.cross_attention", "blocks.1.attention", "blocks.1.cross_attention"));
}

TEST(EncoderDecoder, ForcedKernelsThatCannotAreNamedByTheirPath) {
  const std::string scale = "model.encoder.blocks.b.attention={name: softmax, modifiers: [{softcap: 5}]}";
  try {
    build(test::plan_of(kModel, {scale, "run.kernel=sdpa"}));
    FAIL() << "expected a ConfigError";
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("encoder.blocks.1.attention"));
    EXPECT_THAT(error.what(), testing::Not(testing::HasSubstr("cross_attention")));
  }
}

TEST(EncoderDecoder, SharesOneMatrixAmongBothEmbeddingsAndTheHead) {
  const auto plan = test::plan_of(kTied);
  const auto model = build(plan);
  EXPECT_TRUE(model->encoder->embedding->token->weight.is_same(model->embedding->token->weight));
  EXPECT_TRUE(model->head->weight.is_same(model->embedding->token->weight));
  const std::int64_t attention = 4 * 8 * 8 + 8;  // four matrices and the output's bias
  EXPECT_EQ(count_parameters(*model), 11 * 8 + 2 * attention);
  EXPECT_EQ(measure(plan).parameters, count_parameters(*model));
}

TEST(EncoderDecoder, IsEstimatedToTheByte) {
  for (const auto* yaml : {kModel, kTied}) {
    const auto plan = test::plan_of(yaml);
    const auto model = build(plan);
    std::int64_t buffers = 0;
    for (const auto& buffer : model->buffers()) buffers += static_cast<std::int64_t>(buffer.nbytes());
    EXPECT_EQ(estimate_bytes(plan.model, at::kFloat), 4 * count_parameters(*model) + buffers);
  }
}

}  // namespace
}  // namespace headwright::model

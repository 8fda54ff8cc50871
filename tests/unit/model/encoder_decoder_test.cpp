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

/// The norm of a sublayer, wherever it stands.
std::shared_ptr<Norm> norm_of(const Block& block, std::string_view name) {
  const auto& sublayer = block.sublayer(name);
  return sublayer.norm ? sublayer.norm : sublayer.residual_norm;
}

/// The decoder's layer b on x, from its parts. order: where the norms and residuals stand.
at::Tensor by_hand(Block& b, const std::string& order, at::Tensor x, const Inputs& inputs) {
  const auto own = [&](const at::Tensor& given) {
    return b.sublayer("attention").attention->forward({.x = given, .key_mask = inputs.key_mask});
  };
  const auto cross = [&](const at::Tensor& given) {
    return b.sublayer("cross_attention")
        .attention->forward({.x = given, .memory = inputs.memory, .memory_mask = inputs.memory_mask});
  };
  const auto feed = [&](const at::Tensor& given) { return b.sublayer("feed_forward").feed_forward->forward(given); };
  if (order == "pre_norm") {
    x = x + own(norm_of(b, "attention")->forward(x));
    x = x + cross(norm_of(b, "cross_attention")->forward(x));
    return x + feed(norm_of(b, "feed_forward")->forward(x));
  }
  if (order == "post_norm") {
    x = norm_of(b, "attention")->forward(x + own(x));
    x = norm_of(b, "cross_attention")->forward(x + cross(x));
    return norm_of(b, "feed_forward")->forward(x + feed(x));
  }
  return feed(cross(own(x)));
}

Inputs inputs_for() {
  at::manual_seed(3);
  Inputs inputs{.x = at::randint(0, 11, {2, 5}), .memory = at::randint(0, 7, {2, 4})};
  inputs.key_mask = at::tensor({1, 1, 1, 1, 1, 1, 1, 1, 0, 0}).view({2, 5}).to(at::kBool);
  inputs.memory_mask = at::tensor({1, 1, 0, 1, 1, 0, 0, 0}).view({2, 4}).to(at::kBool);
  return inputs;
}

TEST(EncoderDecoder, IsItsEncoderByHandAndItsDecoderByHand) {
  for (const std::string order : {"pre_norm", "post_norm", "plain"}) {
    SCOPED_TRACE(order);
    std::vector<std::string> overrides{"model.blocks.b.order=" + order};
    if (order == "plain") overrides.emplace_back("model.blocks.b.norm=null");
    const auto model = build(test::plan_of(kModel, overrides));
    const at::NoGradGuard no_grad;
    auto inputs = inputs_for();
    const auto y = model->forward(inputs);

    auto& encoder = *model->encoder;
    auto memory = encoder.embedding->forward({.x = inputs.memory});
    for (const auto& b : encoder.blocks) {
      memory = memory + b->sublayer("attention")
                            .attention->forward(
                                {.x = norm_of(*b, "attention")->forward(memory), .key_mask = inputs.memory_mask});
      memory = memory + b->sublayer("feed_forward").feed_forward->forward(norm_of(*b, "feed_forward")->forward(memory));
    }
    inputs.memory = encoder.final_norm->forward(memory);
    EXPECT_EQ(inputs.memory.sizes(), at::IntArrayRef({2, 4, 6}));
    auto x = model->embedding->forward({.x = inputs.x});
    for (const auto& b : model->blocks) x = by_hand(*b, order, x, inputs);
    EXPECT_TRUE(at::equal(y, model->head->forward({.x = model->final_norm->forward(x)})));
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
  EXPECT_TRUE(model->encoder->embedding->matrix().is_same(model->embedding->matrix()));
  EXPECT_TRUE(model->head->named_parameters()["weight"].is_same(model->embedding->matrix()));
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

// Exports of encoder-decoder models and of models that read document ids.
#include <set>

#include "unit/exporter/exported.h"

namespace headwright::exporter {
namespace {

using testing::ElementsAre;

const std::string kEncoderDecoder = R"(
name: encoder_decoder
model:
  d_model: 8
  n_heads: 2
  context_length: 20
  embedding: {vocab_size: 11, position: learned, dropout: 0.9}
  encoder:
    d_model: 6
    embedding: {vocab_size: 7, position: sinusoidal, dropout: 0.9}
    blocks: {b: {norm: layer_norm, attention: {name: softmax, dropout: 0.9}, feed_forward: relu, dropout: 0.9}}
    layers: [{use: b, repeat: 2}]
    final_norm: layer_norm
  blocks:
    b: {order: post_norm, norm: rms_norm, attention: {name: softmax, mask: causal}, cross_attention: softmax, feed_forward: gelu}
  layers: [{use: b, repeat: 2}]
  head: {}
input: {tokens: [[1, 2, 3]], memory: {tokens: [[1, 2]]}}
)";

const std::string kDocuments = R"(
name: packed
model:
  d_model: 8
  n_heads: 2
  blocks:
    own: {norm: layer_norm, attention: {name: softmax, mask: {all: [causal, document]}}, feed_forward: gelu}
    wide: {norm: layer_norm, attention: {name: softmax, mask: {all: [{window: 4}, document]}}}
  layers: [own, wide]
input: {random: {shape: [1, 3, 8]}}
)";

std::vector<std::string> arguments(const torch::jit::Module& module) {
  std::vector<std::string> names;
  for (const auto& argument : module.get_method("forward").function().getSchema().arguments()) {
    names.push_back(argument.name());
  }
  return names;
}

at::Tensor mask(std::int64_t batch, std::int64_t keys) {
  auto shown = at::rand({batch, keys}).lt(0.6);
  shown.select(0, batch - 1).fill_(false);
  return shown;
}

TEST_F(Exports, OfAnEncoderDecoderEqualTheModelAtOtherSizesAndWithEveryMask) {
  auto it = exported(kEncoderDecoder);
  EXPECT_TRUE(it.report.dynamic);
  EXPECT_THAT(arguments(it.loaded), ElementsAre("self", "x", "memory", "key_mask", "memory_mask", "positions"));
  for (const auto& [batch, seq, memory_len] : {std::tuple{1, 1, 1}, {3, 7, 2}, {2, 20, 11}}) {
    const auto x = at::randint(0, 11, {batch, seq}), memory = at::randint(0, 7, {batch, memory_len});
    for (const auto& key_mask : {at::Tensor(), mask(batch, seq)}) {
      for (const auto& memory_mask : {at::Tensor(), mask(batch, memory_len)}) {
        const auto optional = [](const at::Tensor& t) { return t.defined() ? c10::IValue(t) : c10::IValue(); };
        const auto y = it.loaded.forward({x, memory, optional(key_mask), optional(memory_mask)}).toTensor();
        const auto expected = eager(it, {.x = x, .memory = memory, .key_mask = key_mask, .memory_mask = memory_mask});
        EXPECT_TRUE(at::allclose(y, expected, 1e-5, 1e-6)) << batch << ", " << seq << ", " << memory_len;
      }
    }
  }
}

TEST_F(Exports, OfAnEncoderDecoderKeepTheTree) {
  auto it = exported(kEncoderDecoder);
  const at::NoGradGuard no_grad;
  const auto memory = at::randint(0, 7, {2, 5});
  auto encoder = child(it.loaded, {"encoder"});
  EXPECT_THAT(arguments(encoder), ElementsAre("self", "x", "key_mask"));
  EXPECT_TRUE(at::allclose(encoder.forward({memory}).toTensor(), it.model->encode({.memory = memory}), 1e-5, 1e-6));
  const auto x = at::randn({2, 3, 8}), states = at::randn({2, 5, 6});
  auto cross = child(it.loaded, {"blocks", "1", "cross_attention"});
  EXPECT_THAT(arguments(cross), ElementsAre("self", "x", "memory", "memory_mask"));
  EXPECT_TRUE(
      at::equal(cross.forward({x, states}).toTensor(),
                it.model->blocks[1]->sublayer("cross_attention").attention->forward({.x = x, .memory = states})));
  std::set<std::string> expected, found;
  for (const auto& item : it.model->named_parameters()) expected.insert(item.key());
  for (const auto& item : it.loaded.named_parameters()) found.insert(item.name);
  EXPECT_EQ(found, expected);
  EXPECT_TRUE(found.contains("encoder.blocks.0.attention.q_proj.weight"));
  EXPECT_TRUE(found.contains("blocks.1.cross_attention_norm.weight"));
}

TEST_F(Exports, OfATiedEncoderHoldTheMatrixOnce) {
  auto yaml = kEncoderDecoder;
  yaml.replace(yaml.find("d_model: 6"), 10, "d_model: 8");
  yaml.replace(yaml.find("vocab_size: 7"), 13, "tied: true");
  const auto it = exported(yaml);
  EXPECT_EQ(child(it.loaded, {"encoder", "embedding", "token"}).attr("weight").toTensor().data_ptr(),
            child(it.loaded, {"embedding", "token"}).attr("weight").toTensor().data_ptr());
  EXPECT_EQ(it.report.parameters, model::count_parameters(*it.model));
}

TEST_F(Exports, TakeDocumentIdsLastWhereALayerReadsThem) {
  auto it = exported(kDocuments);
  EXPECT_THAT(arguments(it.loaded), ElementsAre("self", "x", "key_mask", "document_ids"));
  EXPECT_THAT(arguments(child(it.loaded, {"blocks", "1", "attention"})),
              ElementsAre("self", "x", "key_mask", "document_ids"));
  for (const auto& [batch, seq] : {std::pair{1, 1}, {3, 9}}) {
    const auto x = at::randn({batch, seq, 8});
    const auto ids = at::rand({batch, seq}).lt(0.4).to(at::kLong).cumsum(1);
    const auto shown = mask(batch, seq);
    EXPECT_TRUE(at::allclose(it.loaded.forward({x, c10::IValue(), ids}).toTensor(),
                             eager(it, {.x = x, .document_ids = ids}), 1e-5, 1e-6));
    EXPECT_TRUE(at::allclose(it.loaded.forward({x, shown, ids}).toTensor(),
                             eager(it, {.x = x, .key_mask = shown, .document_ids = ids}), 1e-5, 1e-6));
    EXPECT_TRUE(
        at::allclose(it.loaded.forward({x, shown}).toTensor(), eager(it, {.x = x, .key_mask = shown}), 1e-5, 1e-6));
    EXPECT_TRUE(at::allclose(it.loaded.forward({x}).toTensor(), eager(it, {.x = x}), 1e-5, 1e-6));
  }
}

/// One attention that honours no key mask takes it from the whole model, though the other layers have it.
TEST_F(Exports, PassMasksByNameWhereTheModelHasFewerThanALayer) {
  auto plan = test::plan_of(R"(
name: mixed
model:
  d_model: 8
  n_heads: 2
  blocks:
    own: {order: post_norm, norm: rms_norm, attention: softmax}
    both: {order: post_norm, norm: rms_norm, attention: softmax, cross_attention: softmax}
  layers: [own, both]
input: {random: {shape: [2, 4, 8]}, memory: {random: {shape: [2, 3, 8]}}}
)");
  plan.model.blocks[0].sublayers[0].claims.key_mask = false;
  auto it = exported(plan);
  const auto x = at::randn({2, 3, 8}), memory = at::randn({2, 5, 8});
  const auto memory_mask = mask(2, 5);
  EXPECT_THAT(arguments(it.loaded), ElementsAre("self", "x", "memory", "memory_mask"));
  EXPECT_TRUE(at::allclose(it.loaded.forward({x, memory, memory_mask}).toTensor(),
                           eager(it, {.x = x, .memory = memory, .memory_mask = memory_mask}), 1e-5, 1e-6));
}

}  // namespace
}  // namespace headwright::exporter

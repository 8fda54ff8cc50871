// Exported modules equal the models they came from.
#include <regex>
#include <set>

#include "unit/exporter/exported.h"

namespace headwright::exporter {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST_F(Exports, EqualTheModelAtOtherBatchSizesAndLengths) {
  for (const std::string& block : std::vector<std::string>{
           "attention: simple_self_attention", "attention: {name: self_attention_v1, d_out: 3}",
           "attention: {name: self_attention_v2, d_out: 3, qkv_bias: true}",
           "attention: {name: causal_attention, d_out: 3}", "attention: {name: multi_head_wrapper, d_out: 3}",
           "attention: multi_head_attention", "attention: {name: softmax, mask: {window: 3}}",
           "order: pre_norm, norm: layer_norm, attention: softmax, feed_forward: gelu",
           "order: post_norm, norm: rms_norm, attention: {name: softmax, mask: causal}, feed_forward: relu",
           "order: parallel, norm: layer_norm, attention: softmax, feed_forward: swiglu",
           "order: plain, attention: softmax, feed_forward: gelu",
           "order: pre_norm, norm: layer_norm, feed_forward: gelu"}) {
    const auto it = exported(layer(block));
    EXPECT_TRUE(it.report.dynamic);
    EXPECT_EQ(it.report.checked.size(), 4U);
    for (const auto& [batch, seq] : {std::pair{1, 1}, {1, 5}, {4, 16}, {3, 7}, {2, 6}}) {
      const auto x = at::randn({batch, seq, 6});
      auto module = it.loaded;
      EXPECT_TRUE(at::allclose(module.forward({x}).toTensor(), eager(it, {.x = x}), 1e-5, 1e-6))
          << block << " at " << batch << ", " << seq;
    }
  }
}

TEST_F(Exports, OfAStackWithTokensEqualTheModel) {
  auto it = exported(kGpt);
  for (const auto& [batch, seq] : {std::pair{1, 1}, {1, 20}, {5, 13}}) {
    const auto tokens = at::randint(0, 11, {batch, seq});
    EXPECT_TRUE(at::allclose(it.loaded.forward({tokens}).toTensor(), eager(it, {.x = tokens}), 1e-5, 1e-6));
  }
}

TEST_F(Exports, KeepEveryNameAndTieWeightsOnce) {
  const auto it = exported(kGpt);
  std::set<std::string> expected, found;
  for (const auto& item : it.model->named_parameters()) expected.insert(item.key());
  for (const auto& item : it.model->named_buffers()) expected.insert(item.key());
  for (const auto& item : it.loaded.named_parameters()) found.insert(item.name);
  for (const auto& item : it.loaded.named_buffers()) found.insert(item.name);
  EXPECT_EQ(found, expected);
  EXPECT_EQ(child(it.loaded, {"head"}).attr("weight").toTensor().data_ptr(),
            child(it.loaded, {"embedding", "token"}).attr("weight").toTensor().data_ptr());
  std::int64_t counted = 0;
  std::set<void*> seen;
  for (const auto& parameter : it.model->parameters()) {
    if (seen.insert(parameter.data_ptr()).second) counted += parameter.numel();
  }
  EXPECT_EQ(it.report.parameters, counted);
}

TEST_F(Exports, KeepBuffersAsBuffers) {
  const auto it = exported(layer("attention: causal_attention"));
  EXPECT_EQ(child(it.loaded, {"blocks", "0", "attention"}).attr("mask").toTensor().sizes(), at::IntArrayRef({16, 16}));
  EXPECT_EQ(it.report.parameters, 3 * 6 * 6);
}

TEST_F(Exports, LetAnAttentionLayerBeCalledOnItsOwn) {
  const auto it = exported(kGpt);
  auto attention = child(it.loaded, {"blocks", "1", "attention"});
  const auto x = at::randn({2, 3, 12});
  const auto mask = at::tensor({1, 0, 1, 1, 1, 0}).view({2, 3}).to(at::kBool);
  const at::NoGradGuard no_grad;
  const auto& eager_layer = it.model->blocks[1]->sublayer("attention").attention;
  EXPECT_TRUE(at::equal(attention.forward({x}).toTensor(), eager_layer->forward({.x = x})));
  EXPECT_TRUE(at::equal(attention.forward({x, mask}).toTensor(), eager_layer->forward({.x = x, .key_mask = mask})));
  std::vector<std::string> names;
  for (const auto& argument : attention.get_method("forward").function().getSchema().arguments()) {
    names.push_back(argument.name());
  }
  EXPECT_THAT(names, ElementsAre("self", "x", "key_mask"));
}

TEST_F(Exports, HonourAKeyMaskAlsoWhereARowSeesNothing) {
  auto it = exported(kGpt);
  const auto tokens = at::randint(0, 11, {3, 6});
  auto mask = at::ones({3, 6}, at::kBool);
  mask.select(0, 1).fill_(false);
  mask.select(0, 2).slice(0, 3, 6).fill_(false);
  const auto y = it.loaded.forward({tokens, mask}).toTensor();
  EXPECT_TRUE(at::allclose(y, eager(it, {.x = tokens, .key_mask = mask}), 1e-5, 1e-6));
  EXPECT_FALSE(y.isnan().any().item<bool>());
  EXPECT_FALSE(at::allclose(y, it.loaded.forward({tokens}).toTensor()));
}

TEST_F(Exports, TakeAMemoryWhereALayerReadsOne) {
  auto it = exported(kCross);
  const auto x = at::randn({2, 3, 8}), memory = at::randn({2, 9, 8});
  const auto memory_mask = at::randn({2, 9}).gt(0), key_mask = at::randn({2, 3}).gt(-1);
  EXPECT_TRUE(
      at::allclose(it.loaded.forward({x, memory}).toTensor(), eager(it, {.x = x, .memory = memory}), 1e-5, 1e-6));
  EXPECT_TRUE(at::allclose(it.loaded.forward({x, memory, key_mask, memory_mask}).toTensor(),
                           eager(it, {.x = x, .memory = memory, .key_mask = key_mask, .memory_mask = memory_mask}),
                           1e-5, 1e-6));
  auto cross = child(it.loaded, {"blocks", "1", "attention"});
  const at::NoGradGuard no_grad;
  EXPECT_TRUE(at::equal(cross.forward({x, memory, memory_mask}).toTensor(),
                        it.model->blocks[1]
                            ->sublayer("attention")
                            .attention->forward({.x = x, .memory = memory, .memory_mask = memory_mask})));
}

TEST_F(Exports, HaveNoDropoutAndLeaveTheModelAsItWas) {
  const auto plan = test::plan_of(kGpt);
  const auto model = model::build(plan);
  model->train();
  write(*model, plan, "torchscript", in("model.pt"));
  EXPECT_TRUE(model->is_training());
  auto loaded = torch::jit::load(in("model.pt").string());
  loaded.train();
  EXPECT_TRUE(loaded.is_training());  // even then: the inference form has no dropout
  const auto tokens = at::randint(0, 11, {2, 8});
  const auto once = loaded.forward({tokens}).toTensor(), twice = loaded.forward({tokens}).toTensor();
  EXPECT_TRUE(at::equal(once, twice));
  model->eval();
  EXPECT_TRUE(at::allclose(once, model->forward({.x = tokens}), 1e-5, 1e-6));
}

TEST_F(Exports, KeepTheDtype) {
  for (const auto& [name, dtype] :
       {std::pair{"float64", at::kDouble}, {"bfloat16", at::kBFloat16}, {"float16", at::kHalf}}) {
    auto it = exported(kGpt + "run: {dtype: " + name + "}\n");
    const auto tokens = at::randint(0, 11, {2, 9});
    const auto y = it.loaded.forward({tokens}).toTensor();
    EXPECT_EQ(y.scalar_type(), dtype);
    EXPECT_TRUE(at::allclose(y, eager(it, {.x = tokens}), 1e-2, 1e-2)) << name;
  }
}

TEST_F(Exports, KeepGradientsForParameters) {
  auto it = exported(layer("attention: softmax"));
  for (const auto& parameter : it.loaded.parameters()) EXPECT_TRUE(parameter.requires_grad());
  it.loaded.forward({at::randn({1, 2, 6})}).toTensor().sum().backward();
  for (const auto& parameter : it.loaded.parameters()) EXPECT_TRUE(parameter.grad().defined());
}

TEST_F(Exports, OfALoopTakeTheConfigsShapeAlone) {
  auto it = exported(layer("attention: {name: simple_self_attention, form: loop}"));
  EXPECT_FALSE(it.report.dynamic);
  ASSERT_EQ(it.report.checked.size(), 1U);
  EXPECT_THAT(it.report.checked[0].shape, ElementsAre(2, 5, 6));
  const auto x = at::randn({2, 5, 6});
  EXPECT_TRUE(at::allclose(it.loaded.forward({x}).toTensor(), eager(it, {.x = x}), 1e-5, 1e-6));
  for (const auto& other : {at::randn({1, 5, 6}), at::randn({2, 4, 6})}) {
    EXPECT_THAT(test::message_of<std::exception>([&] { it.loaded.forward({other}); }),
                HasSubstr("expected [2, 5], the fixed shape that 'simple_self_attention' was exported at"));
  }
}

TEST_F(Exports, NameNoDevice) {
  for (const auto& yaml : {kGpt, kCross, layer("attention: causal_attention"), layer("attention: multi_head_wrapper"),
                           std::string(kGpt).replace(kGpt.find("learned"), 7, "sinusoidal")}) {
    const auto text = exported(yaml).loaded.dump_to_str(true, false, false);
    EXPECT_FALSE(std::regex_search(text, std::regex("torch\\.device\\(|\"cpu\"|CONSTANTS"))) << text;
  }
}

}  // namespace
}  // namespace headwright::exporter

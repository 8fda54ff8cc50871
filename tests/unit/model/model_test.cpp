// Whole models: parameters, names, tied weights, seeds and footprints.
#include "model/model.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>

#include <fstream>

#include "bind/walk.h"
#include "headwright/attention.h"
#include "helpers/configs.h"
#include "model/build.h"
#include "model/components.h"
#include "model/meta.h"

namespace headwright::model {
namespace {

using test::plan_of;

std::string gpt2(std::int64_t d_model, std::int64_t n_heads, std::int64_t n_layers, bool tied, bool qkv_bias) {
  return "name: gpt2\nmodel:\n  d_model: " + std::to_string(d_model) + "\n  n_heads: " + std::to_string(n_heads) +
         "\n  context_length: 1024\n  embedding: {vocab_size: 50257, position: learned}\n  blocks:\n    dense: {norm: "
         "layer_norm, attention: {name: softmax, mask: causal, qkv_bias: " +
         (qkv_bias ? "true" : "false") +
         "}, feed_forward: {name: gelu, approximate: tanh}}\n  layers: [{use: dense, "
         "repeat: " +
         std::to_string(n_layers) + "}]\n  final_norm: layer_norm\n  head: {tied: " + (tied ? "true" : "false") + "}\n";
}

struct Size {
  std::int64_t d_model, n_heads, n_layers, tied_bias, untied_bias, tied, untied;
};

TEST(Measure, CountsEverySizeOfGpt2) {
  const Size sizes[] = {{768, 12, 12, 124439808, 163037184, 124412160, 163009536},
                        {1024, 16, 24, 354823168, 406286336, 354749440, 406212608},
                        {1280, 20, 36, 774030080, 838359040, 773891840, 838220800},
                        {1600, 25, 48, 1557611200, 1638022400, 1557380800, 1637792000}};
  for (const auto& size : sizes) {
    const auto count = [&](bool is_tied, bool bias) {
      return measure(plan_of(gpt2(size.d_model, size.n_heads, size.n_layers, is_tied, bias))).parameters;
    };
    EXPECT_EQ(count(true, true), size.tied_bias) << size.d_model;
    EXPECT_EQ(count(false, true), size.untied_bias) << size.d_model;
    EXPECT_EQ(count(true, false), size.tied) << size.d_model;
    EXPECT_EQ(count(false, false), size.untied) << size.d_model;
  }
}

/// Two norms, the attention and the feed-forward, all with their biases.
TEST(Measure, CountsTheBlocksOfEverySizeOfGpt2) {
  struct Blocks {
    std::int64_t d_model, n_heads, n_layers, parameters;
  };
  for (const auto& size : {Blocks{768, 12, 12, 7087872}, Blocks{1024, 16, 24, 12596224}, Blocks{1280, 20, 36, 19677440},
                           Blocks{1600, 25, 48, 30740800}}) {
    std::vector<std::int64_t> blocks(static_cast<std::size_t>(size.n_layers), 0);
    for (const auto& [path, count] :
         measure(plan_of(gpt2(size.d_model, size.n_heads, size.n_layers, true, true))).modules) {
      const std::string before = "blocks.";
      if (path.starts_with(before)) blocks.at(std::stoul(path.substr(before.size()))) += count;
    }
    EXPECT_THAT(blocks, testing::Each(size.parameters)) << size.d_model;
  }
}

/// The caches of all layers, which hold nothing yet but have their room: bytes for each token of it.
double cache_bytes_per_token(const bind::Plan& plan) {
  const MetaMode meta;  // nothing is allocated
  constexpr std::int64_t kCapacity = 1000;
  std::int64_t bytes = 0;
  for (const auto& place : bind::walk_attentions(plan.model)) {
    const auto cache = make<Attention>(*place.component, *place.dims)->make_cache(1, kCapacity);
    for (const auto& [name, tensor] : cache.tensors) bytes += static_cast<std::int64_t>(tensor.nbytes());
  }
  return static_cast<double>(bytes) / kCapacity;
}

TEST(Measure, TheCacheOfGpt2SmallTakes73728BytesPerToken) {
  EXPECT_EQ(cache_bytes_per_token(test::shipped_plan("models/gpt2_small.yaml")), 73728);
}

TEST(Measure, AgreesWithTheBuiltModelForEveryShippedConfig) {
  for (const auto& path : test::shipped_configs()) {
    const auto plan = bind::resolve(spec::load(path), test::shipped_plugins());
    const auto footprint = measure(plan);
    const auto model = build(plan);
    EXPECT_EQ(footprint.parameters, count_parameters(*model)) << path;
    std::int64_t sum = 0;
    for (const auto& [name, count] : footprint.modules) sum += count;
    EXPECT_EQ(sum, footprint.parameters) << path;
  }
}

TEST(Measure, AllocatesNothing) {
  const auto resident = [] {
    std::ifstream statm("/proc/self/statm");
    std::int64_t pages = 0, in_memory = 0;
    statm >> pages >> in_memory;
    return in_memory * 4096;
  };
  const auto plan = plan_of(gpt2(1600, 25, 48, false, true));  // 6.5 GB in float32
  const auto before = resident();
  EXPECT_EQ(measure(plan).bytes, 1638022400LL * 4);
  EXPECT_LT(resident() - before, 200'000'000);
}

TEST(Build, RefusesWhatCannotFitBeforeAllocating) {
  try {
    build(plan_of(gpt2(1 << 20, 16, 96, false, true)));
    FAIL() << "expected a ResourceError";
  } catch (const ResourceError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("PiB"));
  }
  EXPECT_THROW(build(plan_of(gpt2(1LL << 40, 16, 12, false, true))), ResourceError);
}

TEST(Build, TheSameSeedGivesTheSameWeightsInEveryDtype) {
  const auto plan = test::shipped_plan("models/tiny_gpt.yaml");
  const auto half = test::shipped_plan("models/tiny_gpt.yaml", {"run.dtype=bfloat16"});
  const auto a = build(plan)->named_parameters(), b = build(plan)->named_parameters(),
             c = build(half)->named_parameters();
  for (const auto& parameter : a) {
    EXPECT_TRUE(at::equal(parameter.value(), b[parameter.key()])) << parameter.key();
    EXPECT_TRUE(at::equal(parameter.value().to(at::kBFloat16), c[parameter.key()])) << parameter.key();
  }
}

TEST(Build, KeepsATiedWeightOneTensor) {
  for (const auto* dtype : {"float32", "bfloat16"}) {
    const auto model = build(plan_of(gpt2(16, 2, 1, true, true), {"run.dtype=" + std::string(dtype)}));
    EXPECT_TRUE(model->tied);
    EXPECT_EQ(model->head->named_parameters()["weight"].data_ptr(), model->embedding->matrix().data_ptr());
  }
}

TEST(Model, NamesItsParametersByTheTree) {
  const auto model = build(plan_of(gpt2(16, 2, 2, false, true)));
  const auto names = model->named_parameters().keys();
  for (const auto* name : {"embedding.token.weight", "embedding.position.weight", "blocks.0.attention_norm.weight",
                           "blocks.1.attention.q_proj.weight", "blocks.1.feed_forward_norm.bias",
                           "blocks.0.feed_forward.up_proj.weight", "final_norm.weight", "head.weight"}) {
    EXPECT_THAT(names, testing::Contains(name));
  }
}

TEST(Device, AnUnusableOneIsRefusedWithTheUsableOnes) {
  if (at::hasCUDA()) GTEST_SKIP() << "this libtorch has CUDA";
  try {
    device_from("cuda:1");
    FAIL() << "expected a ResourceError";
  } catch (const ResourceError& error) {
    EXPECT_STREQ(error.what(), "device 'cuda:1' is not usable: this libtorch was built without CUDA; usable: cpu");
  }
}

}  // namespace
}  // namespace headwright::model

// A baseline does the same work as the layer, or says why it cannot.
#include "bench/baseline.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>

#include <set>

#include "bench/flops.h"
#include "bench/sizes.h"
#include "helpers/configs.h"
#include "helpers/temporary_folder.h"
#include "model/build.h"
#include "run/forward.h"

namespace headwright::bench {
namespace {

using testing::HasSubstr;

constexpr auto kLayer = R"(name: layer
model:
  d_model: 16
  n_heads: 4
  n_kv_heads: 2
  blocks: { only: { order: plain, attention: { name: softmax, mask: causal } } }
input: { random: { shape: [2, 9, 16], seed: 3 } }
)";

std::variant<CoreCall, Reason> call_of(const std::string& yaml, const std::vector<std::string>& overrides) {
  const auto plan = test::plan_of(yaml, overrides);
  return first_core_call(plan, *model::build(plan), run::make_inputs(plan));
}

CoreCall call_with(const std::vector<std::string>& overrides) {
  auto call = call_of(kLayer, overrides);
  if (const auto* reason = std::get_if<Reason>(&call)) throw std::runtime_error(*reason);
  return std::get<CoreCall>(call);
}

const std::string kAttention = "model.blocks.only.attention.";

TEST(BenchBaseline, DoesTheSameWorkWhateverTheLayerAsks) {
  const std::vector<std::vector<std::string>> asked{
      {},
      {kAttention + "mask={all: [causal, {window: 3}]}"},
      {kAttention + "mask={not: causal}"},  // the last query sees nothing
      {kAttention + "scale=0.7", "run.dtype=float64"},
      {kAttention + "qk_norm=l2"},
      {"input.lengths=[9, 4]"},
      {"run.dtype=bfloat16"},
      {kAttention + "modifiers=[{softcap: 2}]", "run.kernel=reference"},
      {kAttention + "normaliser=softmax_one"},
      {kAttention + "sink=true"},
      {kAttention + "modifiers=[{softcap: 2}]", kAttention + "sink=true", kAttention + "mask={not: causal}"},
  };
  for (std::size_t i = 0; i < asked.size(); ++i) {
    const auto call = call_with(asked[i]);
    EXPECT_EQ(call.layer, "blocks.0.attention");
    EXPECT_EQ(call.q.sizes(), at::IntArrayRef({2, 4, 9, 4}));
    EXPECT_EQ(call.k.sizes(), at::IntArrayRef({2, 2, 9, 4}));
    for (const auto& name : baseline_names()) {
      const auto work = direct_work(name, call);
      if (const auto* reason = std::get_if<Reason>(&work)) {
        EXPECT_GE(i, 7U) << *reason;
        EXPECT_EQ(name, "sdpa");
        EXPECT_THAT(*reason, HasSubstr("scaled_dot_product_attention cannot "));
        continue;
      }
      EXPECT_TRUE(i < 7U || name == "dense");
      const auto& direct = std::get<Work>(work);
      EXPECT_LE(relative_difference(direct.forward(), call.y), tolerance_of(call.y.scalar_type())) << name << ' ' << i;
      EXPECT_LE(relative_difference(core_work(call).forward(), call.y), tolerance_of(call.y.scalar_type()))
          << name << ' ' << i;
      EXPECT_TRUE(has_backward(direct));
    }
  }
}

TEST(BenchBaseline, SaysWhyThereIsNone) {
  const auto reason = [](const std::string& attention) {
    return std::get<Reason>(call_of("name: a\nmodel: { d_model: 8, context_length: 16, blocks: { only: { " + attention +
                                        " } } }\ninput: { random: { shape: [1, 5, 8] } }\n",
                                    {}));
  };
  EXPECT_EQ(reason("order: plain, feed_forward: relu"), "no layer computes its attention on the core");
  EXPECT_EQ(reason("order: plain, attention: causal_attention"), "no layer computes its attention on the core");
}

/// These two make one map of several of the core's.
TEST(BenchBaseline, IsFoundForEveryOtherVariantOnTheCore) {
  std::set<std::string> without;
  for (const auto& config : test::shipped_configs()) {
    if (config.parent_path().filename() != "attention") continue;
    const auto plan = test::shipped_plan("attention/" + config.filename().string());
    const auto& sublayer = plan.model.blocks.front().sublayers.front();
    if (!sublayer.claims.core) continue;
    const auto call = first_core_call(plan, *model::build(plan), run::make_inputs(plan));
    if (std::holds_alternative<Reason>(call)) without.insert(sublayer.component.variant->name);
  }
  EXPECT_THAT(without, testing::ElementsAre("differential", "talking_heads"));
}

TEST(BenchBaseline, WithTheMaskOfPlainCausalTakesTorchsOwnPath) {
  const auto causal = call_with({}), masked = call_with({kAttention + "mask={window: 9}"});
  const auto flops = [](const CoreCall& call) {
    return needs_of_forward(std::get<Work>(direct_work("sdpa", call))).flops;
  };
  EXPECT_EQ(flops(causal), 2 * 4 * (9 * 10 / 2) * 2 * (4 + 4));
  EXPECT_EQ(flops(masked), 2 * 4 * 9 * 9 * 2 * (4 + 4));
}

TEST(BenchBaseline, TheDifferenceIsRelativeToTheLargestValue) {
  EXPECT_DOUBLE_EQ(relative_difference(at::tensor({1.0, 4.0}), at::tensor({2.0, 4.0})), 0.25);
  EXPECT_EQ(relative_difference(at::empty({0}), at::empty({0})), 0);
}

TEST(BenchSizes, TakeThePlaceOfTheConfigsOwn) {
  auto plan = test::plan_of(kLayer);
  const auto shape = [&](const BenchPoint& point) {
    auto changed = plan;
    take_sizes(changed, point);
    return run::make_inputs(changed).x.sizes().vec();
  };
  using Sizes = std::vector<std::int64_t>;
  EXPECT_EQ(shape({}), (Sizes{2, 9, 16}));
  EXPECT_EQ(shape({{"seq_len", "5"}}), (Sizes{2, 5, 16}));
  EXPECT_EQ(shape({{"batch_size", "3"}}), (Sizes{3, 9, 16}));
  EXPECT_EQ(shape({{"batch_size", "1"}, {"seq_len", "1"}}), (Sizes{1, 1, 16}));
  plan = test::plan_of(kLayer, {"input={values: [[[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]]]}"});
  EXPECT_EQ(shape({{"seq_len", "5"}}), (Sizes{1, 5, 16}));
  plan = test::shipped_plan("models/tiny_gpt.yaml");
  EXPECT_EQ(shape({{"seq_len", "5"}}), (Sizes{2, 5}));
}

TEST(BenchSizes, TakeTheKeyMaskWithThem) {
  auto masked = test::plan_of(kLayer, {"input.lengths=[9, 4]"});
  EXPECT_TRUE(run::make_inputs(masked).key_mask.defined());
  take_sizes(masked, {{"seq_len", "5"}});
  EXPECT_FALSE(run::make_inputs(masked).key_mask.defined());
}

TEST(BenchSizes, AreRefusedBeyondTheModelsOwn) {
  auto gpt = test::shipped_plan("models/tiny_gpt.yaml");
  take_sizes(gpt, {{"seq_len", "100000"}});
  EXPECT_THAT(test::message_of<InputError>([&] { run::make_inputs(gpt); }), HasSubstr("model.context_length"));
}

TEST(BenchSizes, WhereSomethingVariesTheConfigsOwnInputNeedNotFit) {
  const run::Request request{.config = HEADWRIGHT_SOURCE_DIR "/configs/attention/softmax.yaml",
                             .overrides = {"model.d_model=32"},
                             .plugin_path = {HEADWRIGHT_BUILD_DIR "/plugins"}};
  EXPECT_THROW(open_at(request, {}), ConfigError);
  const std::vector<std::pair<BenchPoint, std::vector<std::int64_t>>> cases{
      {{{"seq_len", "7"}}, {2, 7, 32}},
      {{{"batch_size", "3"}}, {3, 5, 32}},
      {{{"model.n_heads", "8"}}, {2, 5, 32}},
      {{{"seq_len", "7"}, {"batch_size", "3"}, {"model.n_heads", "8"}}, {3, 7, 32}}};
  for (const auto& [point, shape] : cases) {
    auto session = open_at(request, point);
    take_sizes(session.plan, point);
    EXPECT_EQ(run::make_inputs(session.plan).x.sizes().vec(), shape) << point.front().first;
  }
}

TEST(BenchSizes, OtherAxesAreValuesOfTheConfig) {
  EXPECT_THAT(overrides_of({{"seq_len", "5"}, {"model.n_heads", "4"}}), testing::ElementsAre("model.n_heads=4"));
}

}  // namespace
}  // namespace headwright::bench

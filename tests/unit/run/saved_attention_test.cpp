// Saved weights are those that the layers applied.
#include "run/saved_attention.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>

#include <set>

#include "headwright/shapes.h"
#include "helpers/configs.h"
#include "helpers/temporary_folder.h"
#include "model/build.h"
#include "run/forward.h"

namespace headwright::run {
namespace {

using ::testing::HasSubstr;

constexpr auto kModel = R"(name: model
model:
  d_model: 8
  n_heads: 4
  n_kv_heads: 2
  blocks:
    local: { norm: rms_norm, attention: { name: softmax, mask: { window: 3 }, modifiers: [{ softcap: 2 }], sink: true } }
    all: { norm: rms_norm, attention: { name: softmax, mask: causal } }
  layers: [local, all]
input: { random: { shape: [2, 7, 8] }, lengths: [7, 4] }
)";

tensor_io::Named weights(const bind::Plan& plan, const WeightRequest& request) {
  const auto model = model::build(plan);
  auto inputs = make_inputs(plan);
  Recorder recorder;
  want_weights(recorder, *model, inputs, request);
  inputs.recorder = &recorder;
  forward(*model, inputs);
  return recorded_weights(recorder, *model, request);
}

TEST(Weights, OfEveryLayerUnderTheModulesName) {
  const auto found = weights(test::plan_of(kModel), {});
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].first, "blocks.0.attention");
  EXPECT_EQ(found[1].first, "blocks.1.attention");
  EXPECT_EQ(shape_text(found[0].second), "(2, 4, 7, 7)");
  const auto sums = found[1].second.sum(-1);  // without a sink, what a row sees has all of it
  EXPECT_TRUE(sums.allclose(at::ones_like(sums)));
  EXPECT_TRUE(found[0].second.sum(-1).lt(0.99).all().item<bool>());                 // the sink has its share
  EXPECT_TRUE(found[0].second.select(0, 1).slice(-1, 4).eq(0).all().item<bool>());  // padding
}

TEST(Weights, ChosenRowsAreThoseOfTheWholeMatrixWhateverTheKernel) {
  const auto whole = weights(test::plan_of(kModel, {"run.kernel=reference"}), {});
  for (const auto* kernel : {"auto", "blockwise", "reference"}) {
    const auto plan = test::plan_of(kModel, {std::string("run.kernel=") + kernel});
    const auto part = weights(plan, {.layers = {"1"}, .rows = {.heads = {1, 3}, .queries = {2, 6}}});
    ASSERT_EQ(part.size(), 1U);
    EXPECT_EQ(part[0].first, "blocks.1.attention");
    const auto expected = whole[1].second.index_select(1, at::tensor({1, 3})).index_select(2, at::tensor({2, 6}));
    EXPECT_TRUE(part[0].second.allclose(expected, 1e-5, 1e-6)) << kernel;
  }
}

TEST(Weights, OfVariantsThatRecordAllOfTheirs) {
  const auto plan = test::shipped_plan("lessons/multi_head_attention.yaml");
  const auto whole = weights(plan, {})[0].second,
             part = weights(plan, {.rows = {.heads = {1}, .queries = {5}}})[0].second;
  EXPECT_EQ(shape_text(whole), "(2, 2, 6, 6)");
  EXPECT_TRUE(part.equal(whole.slice(1, 1, 2).slice(2, 5, 6)));
}

TEST(Weights, ChosenRowsOfEveryShippedLayerAreThoseOfItsWholeMatrix) {
  const WeightRequest some{.rows = {.heads = {0}, .queries = {1, 2}}};
  std::set<std::string> without;
  for (const auto& config : test::shipped_configs()) {
    if (config.parent_path().filename() != "attention") continue;
    SCOPED_TRACE(config.stem().string());
    const auto plan = bind::resolve(spec::load(config), test::shipped_plugins());
    tensor_io::Named whole;
    try {
      whole = weights(plan, {});
    } catch (const InputError&) {
      without.insert(config.stem().string());
      continue;
    }
    const auto part = weights(plan, some);
    ASSERT_EQ(part.size(), whole.size());
    for (std::size_t i = 0; i < whole.size(); ++i) {
      auto all = whole[i].second;
      if (all.dim() == 3) all = all.unsqueeze(1);
      const auto expected = all.slice(1, 0, 1).slice(2, 1, 3);
      EXPECT_TRUE(part[i].second.allclose(expected, 1e-5, 1e-6)) << whole[i].first;
    }
  }
  EXPECT_THAT(without, ::testing::UnorderedElementsAre("fourier", "lstm", "rnn"));
}

TEST(Weights, NeverAnEmptyAnswer) {
  const auto fails = [](const bind::Plan& plan, const WeightRequest& request) {
    return test::message_of<InputError>([&] { weights(plan, request); });
  };
  const auto plan = test::plan_of(kModel);
  EXPECT_THAT(fails(plan, {.layers = {"2"}}), HasSubstr("no attention is called '2', expected an index or one of"));
  EXPECT_THAT(fails(plan, {.rows = {.heads = {4}}}), HasSubstr("heads: got 4, expected 0 to 3"));
  EXPECT_THAT(fails(plan, {.rows = {.queries = {7}}}), HasSubstr("queries: got 7, expected 0 to 6"));
  EXPECT_THAT(fails(test::shipped_plan("attention/fourier.yaml"), {}),
              HasSubstr("blocks.0.attention: this variant has no attention weights"));
  EXPECT_THAT(fails(test::shipped_plan("lessons/multi_head_attention.yaml"), {.rows = {.heads = {2}}}),
              HasSubstr("heads: got 2, expected 0 to 1"));
}

}  // namespace
}  // namespace headwright::run

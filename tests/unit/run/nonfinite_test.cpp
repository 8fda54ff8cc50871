// Where a result stopped being finite.
#include "run/nonfinite.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <torch/nn/module.h>

#include <limits>

#include "helpers/configs.h"
#include "model/build.h"

namespace headwright::run {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

/// The result of a shipped config where the first parameter whose name begins so is NaN.
Forward broken_at(const std::string& config, const std::string& parameter) {
  const auto plan = test::shipped_plan(config);
  const auto model = model::build(plan);
  const at::NoGradGuard no_grad;
  bool found = false;
  for (const auto& item : model->named_parameters()) {
    if (found || !item.key().starts_with(parameter)) continue;
    item.value().fill_(kNan);
    found = true;
  }
  EXPECT_TRUE(found) << parameter;
  return forward(*model, make_inputs(plan));
}

TEST(NonFinite, NothingIsSaidOfAFiniteResult) {
  const auto plan = test::shipped_plan("models/tiny_gpt.yaml");
  const auto result = forward(*model::build(plan), make_inputs(plan));
  EXPECT_EQ(result.nonfinite.nan, 0);
  EXPECT_EQ(result.nonfinite.inf, 0);
  EXPECT_EQ(result.nonfinite.first, "");
}

TEST(NonFinite, NamesTheFirstModuleOfADecoder) {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"blocks.0.attention.", "blocks.0"}, {"blocks.1.feed_forward.", "blocks.1"}, {"final_norm.", "final_norm"}};
  for (const auto& [parameter, first] : cases) {
    const auto result = broken_at("models/tiny_gpt.yaml", parameter);
    EXPECT_EQ(result.nonfinite.first, first) << parameter;
    EXPECT_EQ(result.nonfinite.nan, result.y.numel()) << parameter;
  }
}

TEST(NonFinite, NamesTheFirstModuleOfAnEncoder) {
  EXPECT_EQ(broken_at("models/encoder_decoder.yaml", "encoder.blocks.0.").nonfinite.first, "encoder.blocks.0");
  EXPECT_EQ(broken_at("models/encoder_decoder.yaml", "blocks.0.").nonfinite.first, "blocks.0");
}

TEST(NonFinite, SaysWhereTheInputItselfIsNot) {
  const auto plan = test::shipped_plan("attention/cross_attention.yaml");
  const auto model = model::build(plan);
  auto inputs = make_inputs(plan);
  inputs.x = inputs.x.clone();
  inputs.x[0][0][0] = kNan;
  EXPECT_EQ(forward(*model, inputs).nonfinite.first, "the input");
  inputs = make_inputs(plan);
  inputs.memory = at::full_like(inputs.memory, std::numeric_limits<float>::infinity());
  EXPECT_EQ(forward(*model, inputs).nonfinite.first, "the memory");
}

TEST(NonFinite, CountsInfinitiesApart) {
  const auto found = nonfinite_in(at::tensor({1.0, HUGE_VAL, -HUGE_VAL, static_cast<double>(kNan)}));
  EXPECT_EQ(found.inf, 2);
  EXPECT_EQ(found.nan, 1);
}

}  // namespace
}  // namespace headwright::run

// The feed-forward layers against loops over doubles.
#include "headwright/feed_forward.h"

#include <gtest/gtest.h>

#include <numbers>

#include "helpers/variants.h"
#include "reference/against_loops.h"

namespace {

using headwright::Value;
using loops::Rows;

constexpr headwright::Dims kDims{.d_model = 5};

Rows each(Rows rows, const std::function<double(double)>& function) {
  for (auto& row : rows) {
    for (auto& value : row) value = function(value);
  }
  return rows;
}

double gelu(double a) { return a / 2 * (1 + std::erf(a / std::numbers::sqrt2)); }
double gelu_tanh(double a) {
  return a / 2 * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (a + 0.044715 * a * a * a)));
}
double relu(double a) { return a > 0 ? a : 0; }
double silu(double a) { return a / (1 + std::exp(-a)); }

/// Two layers with `activation` between them.
loops::Reference two_layers(double (*activation)(double)) {
  return [activation](const torch::nn::Module& module, const Rows& x, std::int64_t) {
    return loops::linear(module, "down_proj", each(loops::linear(module, "up_proj", x), activation));
  };
}

Rows gated(const torch::nn::Module& module, const Rows& x, std::int64_t) {
  auto hidden = each(loops::linear(module, "gate_proj", x), silu);
  const auto up = loops::linear(module, "up_proj", x);
  for (std::size_t i = 0; i < up.size(); ++i) {
    for (std::size_t c = 0; c < up[i].size(); ++c) hidden[i][c] *= up[i][c];
  }
  return loops::linear(module, "down_proj", hidden);
}

void expect_agreement(const std::string& variant, const headwright::ParamMap& params,
                      const loops::Reference& reference) {
  at::manual_seed(5);
  const auto module = headwright::test::make<headwright::FeedForward>(variant, kDims, params);
  module->to(at::kDouble);
  loops::expect_agreement(reference, *module, at::randn({2, 3, kDims.d_model}, at::kDouble),
                          [&](const at::Tensor& x) { return module->forward(x); });
}

std::vector<std::int64_t> shape_of(const std::string& variant, const std::string& tensor) {
  return headwright::test::make<headwright::FeedForward>(variant, kDims)->named_parameters()[tensor].sizes().vec();
}

TEST(FeedForward, GeluEqualsTheErrorFunctionForm) {
  expect_agreement("gelu", {{"d_ff", Value{std::int64_t{3}}}}, two_layers(gelu));
}

TEST(FeedForward, GeluByTanhEqualsGpt2sForm) {
  expect_agreement("gelu", {{"approximate", Value{std::string("tanh")}}, {"bias", Value{false}}},
                   two_layers(gelu_tanh));
}

TEST(FeedForward, ReluCutsOffBelowZero) {
  expect_agreement("relu", {}, two_layers(relu));
  expect_agreement("relu", {{"bias", Value{false}}, {"d_ff", Value{std::int64_t{3}}}}, two_layers(relu));
}

TEST(FeedForward, SwigluGatesOneBranchByTheOther) {
  expect_agreement("swiglu", {}, gated);
  expect_agreement("swiglu", {{"bias", Value{true}}, {"d_ff", Value{std::int64_t{3}}}}, gated);
}

TEST(FeedForward, WidthDefaultsToFourTimesTheModelAndToEightThirdsForTheGate) {
  using Shape = std::vector<std::int64_t>;
  EXPECT_EQ(shape_of("gelu", "up_proj.weight"), (Shape{20, 5}));
  EXPECT_EQ(shape_of("relu", "up_proj.weight"), (Shape{20, 5}));
  EXPECT_EQ(shape_of("swiglu", "gate_proj.weight"), (Shape{14, 5}));  // 40 / 3 rounded up
}

}  // namespace

// The norms against loops over doubles.
#include "headwright/norm.h"

#include <gtest/gtest.h>

#include "helpers/variants.h"
#include "reference/against_loops.h"

namespace {

using headwright::Value;
using loops::Row;
using loops::Rows;

constexpr headwright::Dims kDims{.d_model = 5};

double mean(const Row& row, double (*function)(double)) {
  double sum = 0;
  for (const auto value : row) sum += function(value);
  return sum / static_cast<double>(row.size());
}
double itself(double a) { return a; }
double square(double a) { return a * a; }

/// The parameter's element c, or what stands for it where there is none.
double element(const torch::nn::Module& module, const std::string& name, std::size_t c, double otherwise) {
  const auto parameters = module.named_parameters();
  const auto* tensor = parameters.find(name);
  return tensor == nullptr ? otherwise : loops::rows_of(*tensor)[0][c];
}

loops::Reference layer_norm(double eps) {
  return [eps](const torch::nn::Module& module, Rows x, std::int64_t) {
    for (auto& row : x) {
      const auto middle = mean(row, itself);
      for (auto& value : row) value -= middle;
      const auto spread = std::sqrt(mean(row, square) + eps);
      for (std::size_t c = 0; c < row.size(); ++c) {
        row[c] = row[c] / spread * element(module, "weight", c, 1) + element(module, "bias", c, 0);
      }
    }
    return x;
  };
}

loops::Reference rms_norm(double eps) {
  return [eps](const torch::nn::Module& module, Rows x, std::int64_t) {
    for (auto& row : x) {
      const auto size = std::sqrt(mean(row, square) + eps);
      for (std::size_t c = 0; c < row.size(); ++c) row[c] = row[c] / size * element(module, "weight", c, 1);
    }
    return x;
  };
}

void expect_agreement(const std::string& variant, const headwright::ParamMap& params,
                      const loops::Reference& reference) {
  at::manual_seed(5);
  const auto module = headwright::test::make<headwright::Norm>(variant, kDims, params);
  module->to(at::kDouble);
  for (auto& parameter : module->parameters()) parameter.data().normal_();  // ones and zeros would hide a mistake
  loops::expect_agreement(reference, *module, at::randn({2, 3, kDims.d_model}, at::kDouble),
                          [&](const at::Tensor& x) { return module->forward(x); });
}

std::size_t count_of_parameters(const std::string& variant, const headwright::ParamMap& params) {
  return headwright::test::make<headwright::Norm>(variant, kDims, params)->parameters().size();
}

TEST(Norm, LayerNormEqualsTheFormula) {
  expect_agreement("layer_norm", {}, layer_norm(1e-5));
  expect_agreement("layer_norm", {{"eps", Value{0.5}}, {"bias", Value{false}}}, layer_norm(0.5));
  expect_agreement("layer_norm", {{"affine", Value{false}}}, layer_norm(1e-5));
}

TEST(Norm, LayerNormHasTheParametersItWasGiven) {
  EXPECT_EQ(count_of_parameters("layer_norm", {}), 2u);
  EXPECT_EQ(count_of_parameters("layer_norm", {{"bias", Value{false}}}), 1u);
  EXPECT_EQ(count_of_parameters("layer_norm", {{"affine", Value{false}}}), 0u);
}

TEST(Norm, RmsNormEqualsTheFormula) {
  expect_agreement("rms_norm", {}, rms_norm(1e-6));
  expect_agreement("rms_norm", {{"eps", Value{0.5}}}, rms_norm(0.5));
}

TEST(Norm, RmsNormSurvivesValuesWhoseSquareOverflowsFloat16) {
  const auto module = headwright::test::make<headwright::Norm>("rms_norm", kDims);
  module->to(at::kHalf);
  const auto x = at::tensor({1000.0, -2000.0, 3000.0, 0.0, 500.0}).view({1, 1, 5});
  const auto y = module->forward(x.to(at::kHalf));
  EXPECT_EQ(y.scalar_type(), at::kHalf);
  const auto expected = x / x.square().mean().sqrt();
  EXPECT_LT((y.to(at::kFloat) - expected).abs().max().item<double>(), 2e-3);  // float16 has 11 bits
}

}  // namespace

// Compares a module with a loop over doubles: outputs, and gradients of every input and parameter by central
// differences of the loop.
#pragma once
#include <gtest/gtest.h>
#include <torch/nn/module.h>

#include <algorithm>
#include <functional>
#include <string>

#include "reference/loops.h"

namespace loops {

/// One sequence of the batch, computed from the module's parameters as they are now.
using Reference = std::function<Rows(const torch::nn::Module& module, const Rows& x, std::int64_t batch_index)>;

/// The parameter called `name` as rows; for a bias, row 0.
inline Rows parameter(const torch::nn::Module& module, const std::string& name) {
  return rows_of(module.named_parameters()[name]);
}

/// Linear layer `name` of the module, with its bias if it has one.
inline Rows linear(const torch::nn::Module& module, const std::string& name, const Rows& x) {
  const auto parameters = module.named_parameters();
  const auto* bias = parameters.find(name + ".bias");
  return linear(x, parameter(module, name + ".weight"), bias == nullptr ? Row{} : rows_of(*bias)[0]);
}

/// sum(reference(x) * g)
inline double loss(const Reference& reference, const torch::nn::Module& module, const at::Tensor& x,
                   const at::Tensor& g) {
  double sum = 0;
  for (std::int64_t b = 0; b < x.size(0); ++b) {
    const auto y = reference(module, rows_of(x[b]), b), weight = rows_of(g[b]);
    for (std::size_t i = 0; i < y.size(); ++i) {
      for (std::size_t c = 0; c < y[i].size(); ++c) sum += y[i][c] * weight[i][c];
    }
  }
  return sum;
}

inline void expect_outputs(const Reference& reference, const torch::nn::Module& module, const at::Tensor& x,
                           const at::Tensor& y) {
  ASSERT_EQ(y.dim(), 3);
  for (std::int64_t b = 0; b < x.size(0); ++b) {
    const auto expected = reference(module, rows_of(x[b]), b), got = rows_of(y[b]);
    ASSERT_EQ(got.size(), expected.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
      ASSERT_EQ(got[i].size(), expected[i].size());
      for (std::size_t c = 0; c < got[i].size(); ++c) {
        ASSERT_NEAR(got[i][c], expected[i][c], 1e-12) << "batch " << b << ", token " << i << ", feature " << c;
      }
    }
  }
}

/// tensor: x or a parameter; gradient: what autograd found for it.
inline void expect_gradient(const std::function<double()>& loss_now, const at::Tensor& tensor,
                            const at::Tensor& gradient, const std::string& name) {
  ASSERT_TRUE(gradient.defined()) << name << ": no gradient";
  ASSERT_TRUE(gradient.isfinite().all().item<bool>()) << name << ": not finite";
  constexpr double kStep = 1e-5;  // error of the difference: step^2, and 1e-16 / step from rounding
  auto flat = tensor.data().view(-1);
  const auto slopes = gradient.reshape(-1);
  for (std::int64_t i = 0; i < flat.numel(); ++i) {
    const auto at_rest = flat[i].item<double>();
    flat[i] = at_rest + kStep;
    const auto above = loss_now();
    flat[i] = at_rest - kStep;
    const auto below = loss_now();
    flat[i] = at_rest;
    const auto expected = (above - below) / (2 * kStep);
    ASSERT_NEAR(slopes[i].item<double>(), expected, 1e-7 * std::max(1.0, std::abs(expected)))
        << name << ", element " << i;
  }
}

/// forward: the module under test, float64. x: (batch, seq, d_model).
inline void expect_agreement(const Reference& reference, torch::nn::Module& module, at::Tensor x,
                             const std::function<at::Tensor(const at::Tensor&)>& forward) {
  x = x.detach().clone().requires_grad_(true);
  const auto y = forward(x);
  expect_outputs(reference, module, x, y);
  const auto g = at::randn_like(y).detach();
  module.zero_grad();
  (y * g).sum().backward();
  const auto loss_now = [&] { return loss(reference, module, x, g); };
  expect_gradient(loss_now, x, x.grad(), "x");
  for (const auto& named : module.named_parameters()) {
    expect_gradient(loss_now, named.value(), named.value().grad(), named.key());
  }
}

}  // namespace loops

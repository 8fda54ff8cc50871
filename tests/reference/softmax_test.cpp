// The shipped softmax layer against loops over doubles: projections, head mapping, masks, memory.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <numbers>

#include "headwright/attention.h"
#include "helpers/components.h"
#include "reference/attend_reference.h"

namespace headwright {
namespace {

using Matrix = std::vector<std::vector<double>>;  // (rows, columns)

Matrix to_matrix(const at::Tensor& x) {
  Matrix rows(static_cast<std::size_t>(x.size(0)), std::vector<double>(static_cast<std::size_t>(x.size(1))));
  const auto values = x.accessor<double, 2>();
  for (long i = 0; i < x.size(0); ++i) {
    for (long j = 0; j < x.size(1); ++j) rows[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)] = values[i][j];
  }
  return rows;
}

/// y_i = sum_j W_ij x_j + b_i for each row of x.
Matrix projected(const torch::nn::Module& layer, const std::string& name, const Matrix& x) {
  const auto parameters = layer.named_parameters();
  const auto weight = to_matrix(parameters[name + ".weight"].detach());
  const auto* bias = parameters.find(name + ".bias");
  Matrix y;
  for (const auto& row : x) {
    auto& out = y.emplace_back();
    for (std::size_t i = 0; i < weight.size(); ++i) {
      double sum = bias != nullptr ? bias->detach().data_ptr<double>()[i] : 0;
      for (std::size_t j = 0; j < row.size(); ++j) sum += weight[i][j] * row[j];
      out.push_back(sum);
    }
  }
  return y;
}

/// Channels h * d_head ... of each token are head h.
reference::Tensor4 in_heads(const Matrix& x, long n_heads) {
  const long d_head = std::ssize(x[0]) / n_heads;
  reference::Tensor4 heads(1, n_heads, std::ssize(x), d_head);
  for (long h = 0; h < n_heads; ++h) {
    for (long i = 0; i < std::ssize(x); ++i) {
      for (long c = 0; c < d_head; ++c) {
        heads.at(0, h, i, c) = x[static_cast<std::size_t>(i)][static_cast<std::size_t>(h * d_head + c)];
      }
    }
  }
  return heads;
}

class SoftmaxLayer : public ::testing::Test {
 protected:
  SoftmaxLayer() : variant_(test::shipped_plugins().find("softmax")), values_(test::default_values(*variant_)) {}

  void set(const std::string& row, const Value& value) {
    for (auto& [name, old] : values_) {
      if (name == row) old = value;
    }
  }

  std::shared_ptr<Attention> make() {
    at::manual_seed(5);
    auto layer = std::dynamic_pointer_cast<Attention>(variant_->make(dims_, values_));
    layer->to(at::kDouble);
    layer->eval();
    return layer;
  }

  /// One sequence: x (seq, d_model) over source (keys, d_memory).
  at::Tensor by_loops(const Attention& layer, const at::Tensor& x, const at::Tensor& source, double scale,
                      const std::function<bool(long, long)>& sees) {
    const reference::Problem problem{in_heads(projected(layer, "q_proj", to_matrix(x)), dims_.n_heads),
                                     in_heads(projected(layer, "k_proj", to_matrix(source)), dims_.n_kv_heads),
                                     in_heads(projected(layer, "v_proj", to_matrix(source)), dims_.n_kv_heads),
                                     scale,
                                     0,
                                     [&](long, long i, long j) { return sees(i, j); }};
    const auto heads = reference::attend(problem).y;
    Matrix merged(static_cast<std::size_t>(x.size(0)));
    for (long i = 0; i < x.size(0); ++i) {
      for (long h = 0; h < dims_.n_heads; ++h) {
        for (long c = 0; c < heads.sizes[3]; ++c) merged[static_cast<std::size_t>(i)].push_back(heads.at(0, h, i, c));
      }
    }
    std::vector<double> flat;
    for (const auto& row : projected(layer, "out_proj", merged)) flat.insert(flat.end(), row.begin(), row.end());
    return at::tensor(flat, at::kDouble).view({x.size(0), dims_.d_model});
  }

  Dims dims_{.d_model = 12, .n_heads = 4, .n_kv_heads = 2, .d_head = 3};
  const VariantSpec* variant_;
  ParamMap values_;
};

constexpr double kTolerance = 1e-12;  // float64, sums of a few dozen terms of size 1

TEST_F(SoftmaxLayer, EqualsLoopsWithGroupedHeadsACausalMaskAndAKeyMask) {
  set("mask", {Mask::causal()});
  set("qkv_bias", {true});
  const auto layer = make();
  const auto x = at::randn({2, 17, 12}, at::kDouble);
  const auto key_mask = at::arange(17).remainder(3).ne(1).expand({2, 17});
  const auto y = layer->forward({.x = x, .key_mask = key_mask});
  for (long row = 0; row < 2; ++row) {
    const auto expected =
        by_loops(*layer, x[row], x[row], std::numbers::inv_sqrt3, [](long i, long j) { return j <= i && j % 3 != 1; });
    EXPECT_TRUE(y[row].allclose(expected, 0, kTolerance)) << row;
  }
}

TEST_F(SoftmaxLayer, EqualsLoopsOverAMemoryOfAnotherWidthAndLength) {
  dims_.d_memory = 5;
  dims_.n_kv_heads = 1;
  dims_.d_head = 6;
  set("cross", {true});
  set("out_bias", {false});
  set("scale", {0.25});
  const auto layer = make();
  const auto x = at::randn({1, 7, 12}, at::kDouble), memory = at::randn({1, 11, 5}, at::kDouble);
  const auto y = layer->forward({.x = x, .memory = memory, .memory_mask = at::arange(11).lt(9).unsqueeze(0)});
  const auto expected = by_loops(*layer, x[0], memory[0], 0.25, [](long, long j) { return j < 9; });
  EXPECT_TRUE(y[0].allclose(expected, 0, kTolerance));
}

TEST_F(SoftmaxLayer, GivesItsWeightsWhicheverKernelRuns) {
  set("mask", {Mask::window(3)});
  const auto x = at::randn({2, 17, 12}, at::kDouble);
  for (const std::string kernel : {"sdpa", "reference"}) {
    dims_.kernel = kernel;
    const auto layer = make();
    EXPECT_EQ(layer->kernel().effective, kernel);
    Recorder recorder;
    recorder.want("weights");
    layer->forward({.x = x, .recorder = &recorder});
    ASSERT_EQ(recorder.notes().size(), 1U);
    const auto& weights = recorder.notes()[0].value;  // (batch, n_heads, seq, keys)
    EXPECT_TRUE(weights.sum(-1).allclose(at::ones({2, 4, 17}, at::kDouble)));
    EXPECT_EQ(weights[0][0][16].ne(0).sum().item<std::int64_t>(), 3);
  }
}

TEST_F(SoftmaxLayer, DropsWeightsInTrainingAndNotInEval) {
  set("dropout", {0.5});
  const auto layer = make();
  const auto x = at::randn({1, 9, 12}, at::kDouble);
  EXPECT_TRUE(layer->forward({.x = x}).equal(layer->forward({.x = x})));
  layer->train();
  EXPECT_FALSE(layer->forward({.x = x}).equal(layer->forward({.x = x})));
}

TEST_F(SoftmaxLayer, RefusesAPositionThatDoesNotRotate) {
  set("position", {Component{.variant = test::shipped_plugins().find("sinusoidal"), .values = {}}});
  Issues issues;
  variant_->check(dims_, values_, issues);
  ASSERT_EQ(issues.items().size(), 1U);
  EXPECT_EQ(issues.items()[0].message,
            "got 'sinusoidal', which neither rotates q and k nor changes scores; expected one that does, such as rope "
            "or alibi");
}

TEST_F(SoftmaxLayer, AForcedKernelThatCannotIsAnError) {
  dims_.kernel = "sdpa";
  set("modifiers", {std::vector{ScoreModifier::softcap(5)}});
  const auto layer = make();
  EXPECT_THROW(layer->kernel(), Error);
  EXPECT_THROW(layer->forward({.x = at::randn({1, 3, 12}, at::kDouble)}), Error);
}

}  // namespace
}  // namespace headwright

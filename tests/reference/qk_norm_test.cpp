// The norms of each head's queries and keys, in a whole softmax layer, against loops over doubles.
#include <gtest/gtest.h>

#include <cmath>

#include "reference/qkv_layer.h"

namespace {

using headwright::Mask;
using headwright::ParamMap;
using headwright::Value;
using loops::Row;
using loops::Rows;

constexpr std::size_t kHead = 4;

headwright::Dims dims(std::int64_t n_kv_heads) {
  return {.d_model = 6, .n_heads = 4, .n_kv_heads = n_kv_heads, .d_head = kHead};
}

/// What a norm makes of the queries and keys of one head, and the factor on their products.
struct Normed {
  Rows q, k;
  double scale;
};

/// x / sqrt(mean(x^2) + eps), then a learned factor for each channel.
Normed rms(const torch::nn::Module& module, const Rows& q, const Rows& k, double eps, double scale) {
  const auto each = [&](const Rows& x, const char* name) {
    const auto weight = loops::parameter(module, name)[0];
    Rows y;
    for (const auto& row : x) y.push_back(loops::rms_normed(row, weight, eps));
    return y;
  };
  return {each(q, "q_norm"), each(k, "k_norm"), scale};
}

/// x / sqrt(sum(x^2) + eps); products times a learned scale of the query's head.
Normed l2(const torch::nn::Module& module, std::size_t head, const Rows& q, const Rows& k, double eps) {
  const auto each = [&](Rows x) {
    for (auto& row : x) {
      const double length = std::sqrt(loops::dot(row, row) + eps);
      for (auto& value : row) value /= length;
    }
    return x;
  };
  const auto scale = loops::rows_of(module.named_parameters()["qk_scale"].view(-1))[0];
  return {each(q), each(k), scale.at(head)};
}

/// Channels (0, 2) and (1, 3) of each token turned, as rope does by default.
Rows turned(Rows x) {
  for (std::size_t i = 0; i < x.size(); ++i) {
    for (const std::size_t pair : {0U, 1U}) {
      const double angle = double(i) / std::pow(10000.0, double(pair) / 2);
      const double a = x[i][pair], b = x[i][pair + 2];
      x[i][pair] = a * std::cos(angle) - b * std::sin(angle);
      x[i][pair + 2] = a * std::sin(angle) + b * std::cos(angle);
    }
  }
  return x;
}

struct Setting {
  std::string norm;
  std::int64_t n_kv_heads = 4;
  double eps = 1e-6, scale = 0.5;  // 1 / sqrt(d_head)
  bool rope = false;
};

loops::Subject subject(const Setting& it, const ParamMap& more = {}) {
  ParamMap params{{"mask", Value{Mask::causal()}}, {"qk_norm", Value{it.norm}}};
  if (it.rope) params.emplace_back("position", loops::component("rope"));
  params.insert(params.end(), more.begin(), more.end());
  const loops::Head head = [it](const torch::nn::Module& module, std::size_t h, const Rows& q, const Rows& k,
                                const Rows& v, const loops::Keys& keys) {
    auto normed = it.norm == "rms" ? rms(module, q, k, it.eps, it.scale) : l2(module, h, q, k, it.eps);
    if (it.rope) normed = {turned(normed.q), turned(normed.k), normed.scale};
    return loops::mixed(q.size(), v, keys.sees, loops::scaled(normed.q, normed.k, normed.scale), loops::softmax);
  };
  return {"softmax", dims(it.n_kv_heads), params,
          loops::qkv_layer(4, static_cast<std::size_t>(it.n_kv_heads), kHead, head)};
}

/// l2 starts with a scale of 10, which makes ten units in the last place of a score out of one of a rounded query. With
/// a quarter of it, what is left in half types is the layer's own error.
loops::Subject gentle(loops::Subject subject) {
  subject.prepare = [](const torch::nn::Module& module) {
    auto parameters = module.named_parameters();
    if (auto* scale = parameters.find("qk_scale")) scale->div_(4);
  };
  return subject;
}

void expect_formula(const loops::Subject& subject) {
  loops::expect_lengths(subject);
  loops::expect_gradients(subject);
  loops::expect_dtypes(gentle(subject));
}

class QkNorm : public testing::TestWithParam<std::string> {};

TEST_P(QkNorm, EqualsTheFormulaWithHeadsOfTheirOwnAndInGroups) {
  for (const std::int64_t n_kv_heads : {4, 2, 1}) {
    SCOPED_TRACE(n_kv_heads);
    expect_formula(subject({.norm = GetParam(), .n_kv_heads = n_kv_heads}));
  }
}

TEST_P(QkNorm, HasTheFormulasSlopesAtOddLengthsByEveryKernel) {
  for (const std::int64_t n_kv_heads : {2, 1}) {
    for (const std::int64_t length : {1, 2, 17, 63}) {
      SCOPED_TRACE(testing::Message() << length << " tokens, " << n_kv_heads << " heads of keys");
      const auto normed = subject({.norm = GetParam(), .n_kv_heads = n_kv_heads});
      loops::expect_given(normed, loops::draw_given(normed, length));
    }
  }
}

TEST_P(QkNorm, TakesItsEps) {
  expect_formula(subject({.norm = GetParam(), .n_kv_heads = 2, .eps = 0.3}, {{"qk_norm_eps", Value{0.3}}}));
}

TEST_P(QkNorm, WorksWithEveryMaskAndOverAMemory) {
  loops::expect_masks(subject({.norm = GetParam(), .n_kv_heads = 2}));
  loops::expect_memory(subject({.norm = GetParam(), .n_kv_heads = 2}));
}

TEST_P(QkNorm, ComesBeforeTheRotation) {
  const auto rotated = subject({.norm = GetParam(), .n_kv_heads = 2, .rope = true});
  expect_formula(rotated);
  loops::expect_cached(rotated);
}

INSTANTIATE_TEST_SUITE_P(Each, QkNorm, testing::Values("rms", "l2"),
                         [](const testing::TestParamInfo<std::string>& it) { return it.param; });

TEST(QkNormRms, TakesAScale) { expect_formula(subject({.norm = "rms", .scale = 0.2}, {{"scale", Value{0.2}}})); }

/// x^2 is past the range of float16, and a mean of squares is not.
TEST(QkNormRms, OfLargeInputsEqualsTheFormulaInHalfTypes) {
  loops::expect_dtypes(subject({.norm = "rms", .n_kv_heads = 2}), 1500);
}

/// The same where the sum of squares, too, is past the range.
TEST(QkNormL2, OfLargeInputsEqualsTheFormulaInHalfTypes) {
  loops::expect_dtypes(gentle(subject({.norm = "l2", .n_kv_heads = 2})), 1500);
}

}  // namespace

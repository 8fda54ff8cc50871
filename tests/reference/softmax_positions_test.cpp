// The softmax layer with each position that it takes, against loops over doubles.
#include <gtest/gtest.h>

#include <cmath>

#include "reference/qkv_layer.h"

namespace {

using headwright::Mask;
using headwright::Value;
using loops::Row;
using loops::Rows;

constexpr std::size_t kHead = 4;
const headwright::Dims kDims{.d_model = 8, .n_heads = 4, .n_kv_heads = 2, .d_head = kHead};

loops::Subject subject(const Value& position, const loops::Head& head, headwright::ParamMap more = {}) {
  headwright::ParamMap params{{"mask", Value{Mask::causal()}}, {"position", position}};
  params.insert(params.end(), more.begin(), more.end());
  return {"softmax", kDims, params, loops::qkv_layer(4, 2, kHead, head)};
}

Rows attended(const Rows& q, const Rows& v, const loops::Keys& keys, const loops::Score& score) {
  return loops::mixed(q.size(), v, keys.sees, score, loops::softmax);
}

/// A channel and its partner two further on, turned as one complex number.
Rows turned(const Rows& x) {
  Rows y = x;
  for (std::size_t i = 0; i < x.size(); ++i) {
    for (std::size_t pair = 0; pair < kHead / 2; ++pair) {
      const double angle = double(i) / std::pow(10000.0, 2.0 * double(pair) / double(kHead));
      const double a = x[i][pair], b = x[i][pair + kHead / 2];
      y[i][pair] = a * std::cos(angle) - b * std::sin(angle);
      y[i][pair + kHead / 2] = a * std::sin(angle) + b * std::cos(angle);
    }
  }
  return y;
}

TEST(SoftmaxPositions, RopeTurnsQueriesAndKeys) {
  const auto rope = subject(loops::component("rope"), [](const torch::nn::Module&, std::size_t, const Rows& q,
                                                         const Rows& k, const Rows& v, const loops::Keys& keys) {
    const auto q_turned = turned(q), k_turned = turned(k);
    return attended(q, v, keys, loops::scaled(q_turned, k_turned, 0.5));
  });
  loops::expect_all(rope);
  loops::expect_cached(rope);
}

TEST(SoftmaxPositions, AlibiLowersScoresByTheDistance) {
  const auto alibi = subject(loops::component("alibi"), [](const torch::nn::Module&, std::size_t head, const Rows& q,
                                                           const Rows& k, const Rows& v, const loops::Keys& keys) {
    const double slope = std::pow(2.0, -2.0 * double(head + 1));  // of four heads: 1/4, 1/16, 1/64, 1/256
    return attended(q, v, keys, [&](std::size_t i, std::size_t j) {
      return 0.5 * loops::dot(q[i], k[j]) - slope * (double(i) - double(j));
    });
  });
  loops::expect_all(alibi);
  loops::expect_cached(alibi);
}

TEST(SoftmaxPositions, RelativeBiasAddsAWeightOfTheDistancesClass) {
  const auto bias =
      subject(loops::component("relative_bias", {{"n_buckets", Value{std::int64_t{4}}},
                                                 {"max_distance", Value{std::int64_t{8}}},
                                                 {"bidirectional", Value{false}}}),
              [](const torch::nn::Module& module, std::size_t head, const Rows& q, const Rows& k, const Rows& v,
                 const loops::Keys& keys) {
                const auto weight = loops::parameter(module, "position.weight");
                return attended(q, v, keys, [&](std::size_t i, std::size_t j) {
                  // 0 and 1 alone; from 2 on halfway, in logarithms, to 8 is 4.
                  const std::size_t distance = i - j, bucket = distance < 2 ? distance : distance < 4 ? 2 : 3;
                  return loops::dot(q[i], k[j]) + weight[bucket][head];
                });
              },
              {{"scale", Value{1.0}}});
  loops::expect_all(bias);
  loops::expect_cached(bias);
}

}  // namespace

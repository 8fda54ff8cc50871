// Attention layers as loops over doubles, and the one way in which each is compared with the module: outputs at odd
// lengths, gradients, key masks down to a row that sees nothing, narrower types, and in parts with a cache.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "headwright/attention.h"
#include "helpers/variants.h"
#include "reference/against_loops.h"

namespace loops {

using Shown = std::vector<bool>;  // of each key of one sequence

/// One sequence through the layer, with the module's parameters as they are now.
using Layer = std::function<Rows(const torch::nn::Module& module, const Rows& x, const Shown& shown)>;

using Score = std::function<double(std::size_t query, std::size_t key)>;
using Sees = std::function<bool(std::size_t query, std::size_t key)>;

/// Scores of the keys that one query sees -> their weights.
using Weigh = std::function<Row(const Row& scores)>;

inline Row softmax(const Row& scores) {
  double total = 0;
  for (const double score : scores) total += std::exp(score);
  Row weights;
  for (const double score : scores) weights.push_back(std::exp(score) / total);
  return weights;
}

inline double dot(const Row& a, const Row& b) {
  double sum = 0;
  for (std::size_t c = 0; c < a.size(); ++c) sum += a[c] * b[c];
  return sum;
}

/// sum_j weight_ij v_j over the keys that query i sees.
inline Rows mixed(std::size_t queries, const Rows& v, const Sees& sees, const Score& score, const Weigh& weigh) {
  Rows y;
  for (std::size_t i = 0; i < queries; ++i) {
    Row scores;
    for (std::size_t j = 0; j < v.size(); ++j) {
      if (sees(i, j)) scores.push_back(score(i, j));
    }
    const auto weights = weigh(scores);
    Row sum(v[0].size(), 0.0);
    std::size_t seen = 0;
    for (std::size_t j = 0; j < v.size(); ++j) {
      if (!sees(i, j)) continue;
      for (std::size_t c = 0; c < sum.size(); ++c) sum[c] += weights[seen] * v[j][c];
      ++seen;
    }
    y.push_back(sum);
  }
  return y;
}

/// Root mean square 1, then a factor for each element.
inline Row rms_normed(const Row& x, const Row& weight, double eps) {
  const double size = std::sqrt(dot(x, x) / double(x.size()) + eps);
  Row y;
  for (std::size_t c = 0; c < x.size(); ++c) y.push_back(x[c] / size * weight[c]);
  return y;
}

/// Everything before the query and itself, among what is shown.
inline Sees causal(const Shown& shown) {
  return [shown](std::size_t i, std::size_t j) { return j <= i && shown[j]; };
}

struct Subject {
  std::string variant;
  headwright::Dims dims;
  headwright::ParamMap params;
  Layer layer;

  std::shared_ptr<headwright::Attention> make() const {
    at::manual_seed(11);
    auto module = headwright::test::make<headwright::Attention>(variant, dims, params);
    module->to(at::kDouble);
    const at::NoGradGuard no_grad;
    for (auto& parameter : module->parameters()) parameter.add_(at::randn_like(parameter) * 0.1);  // ones hide mistakes
    module->eval();
    return module;
  }
};

/// Row 0 sees everything, row 1 every token but each third, row 2 nothing.
inline at::Tensor three_masks(std::int64_t length) {
  const auto each = at::arange(length);
  return at::stack({each.ge(0), each.remainder(3).ne(1), each.lt(0)});
}

inline Shown shown_of(const at::Tensor& mask) {
  Shown shown;
  for (std::int64_t j = 0; j < mask.size(0); ++j) shown.push_back(mask[j].item<bool>());
  return shown;
}

/// The layer over each row of the batch: (batch, seq, d_out)
inline at::Tensor by_loops(const Subject& subject, const torch::nn::Module& module, const at::Tensor& x,
                           const at::Tensor& mask) {
  std::vector<at::Tensor> batch;
  for (std::int64_t b = 0; b < x.size(0); ++b) {
    for (const auto& row : subject.layer(module, rows_of(x[b]), shown_of(mask[b]))) {
      batch.push_back(at::tensor(row, at::kDouble));
    }
  }
  return at::stack(batch).view({x.size(0), x.size(1), -1});
}

inline double furthest(const at::Tensor& got, const at::Tensor& expected) {
  return (got.to(at::kDouble) - expected).abs().max().item<double>();
}

inline void expect_lengths(const Subject& subject) {
  const at::NoGradGuard no_grad;
  const auto module = subject.make();
  for (const std::int64_t length : {1, 2, 17, 63, 130}) {
    SCOPED_TRACE(testing::Message() << "length " << length);
    const auto x = at::randn({3, length, subject.dims.d_model}, at::kDouble), mask = three_masks(length);
    const auto y = module->forward({.x = x, .key_mask = mask});
    EXPECT_LE(furthest(y, by_loops(subject, *module, x, mask)), 1e-10);  // float64
    const auto unmasked = module->forward({.x = x});
    EXPECT_LE(furthest(unmasked.slice(0, 0, 1), y.slice(0, 0, 1)), 1e-10);
  }
}

inline void expect_gradients(const Subject& subject) {
  const auto module = subject.make();
  for (const std::int64_t length : {1, 2, 5}) {
    SCOPED_TRACE(testing::Message() << "length " << length);
    const auto mask = three_masks(length);
    const Reference reference = [&](const torch::nn::Module& now, const Rows& x, std::int64_t b) {
      return subject.layer(now, x, shown_of(mask[b]));
    };
    expect_agreement(reference, *module, at::randn({3, length, subject.dims.d_model}, at::kDouble),
                     [&](const at::Tensor& x) { return module->forward({.x = x, .key_mask = mask}); });
  }
}

/// Parameters and inputs are rounded first, so that what is left is the layer's own error, relative to the largest
/// value.
inline void expect_dtypes(const Subject& subject) {
  const at::NoGradGuard no_grad;
  struct Type {
    at::ScalarType dtype;
    double tolerance;
  };
  for (const auto& [dtype, tolerance] : {Type{at::kFloat, 1e-5}, {at::kHalf, 2e-3}, {at::kBFloat16, 1.6e-2}}) {
    SCOPED_TRACE(toString(dtype));
    const auto module = subject.make();
    module->to(dtype);
    const auto x = at::randn({3, 17, subject.dims.d_model}).to(dtype), mask = three_masks(17);
    const auto y = module->forward({.x = x, .key_mask = mask});
    EXPECT_EQ(y.scalar_type(), dtype);
    module->to(at::kDouble);
    const auto expected = by_loops(subject, *module, x.to(at::kDouble), mask);
    EXPECT_LE(furthest(y, expected), tolerance * expected.abs().max().item<double>());
  }
}

/// Token by token, and in parts of several lengths, equal the whole.
inline void expect_cached(const Subject& subject) {
  const at::NoGradGuard no_grad;
  const auto module = subject.make();
  const auto x = at::randn({3, 17, subject.dims.d_model}, at::kDouble), mask = three_masks(17);
  const auto whole = by_loops(subject, *module, x, mask);
  for (const auto& parts : {std::vector<std::int64_t>(17, 1), {5, 1, 1, 7, 3}, {17}}) {
    auto cache = module->make_cache(3, 20);
    std::vector<at::Tensor> outputs;
    std::int64_t begin = 0;
    for (const auto length : parts) {
      const auto end = begin + length;
      outputs.push_back(
          module->forward({.x = x.slice(1, begin, end), .key_mask = mask.slice(1, 0, end), .cache = &cache}));
      EXPECT_EQ(cache.tokens(), end);
      begin = end;
    }
    EXPECT_LE(furthest(at::cat(outputs, 1), whole), 1e-10) << parts.size() << " parts";
  }
}

inline void expect_all(const Subject& subject) {
  expect_lengths(subject);
  expect_gradients(subject);
  expect_dtypes(subject);
}

}  // namespace loops

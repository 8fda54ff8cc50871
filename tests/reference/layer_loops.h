// Attention layers as loops over doubles, and the one way in which each is compared with the module: outputs at odd
// lengths, gradients, every mask, key masks down to a row that sees nothing, a memory, narrower types, and in parts
// with a cache.
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
#include "reference/attend_cases.h"

namespace loops {

using Shown = std::vector<bool>;  // of each key of one sequence
using Score = std::function<double(std::size_t query, std::size_t key)>;
using Sees = std::function<bool(std::size_t query, std::size_t key)>;

/// What the queries of one sequence look at.
struct Keys {
  Rows source;                       // x itself, or the memory
  Shown shown;                       // what the key mask shows
  Sees sees;                         // what the mask and the key mask show
  std::vector<long> documents = {};  // of each key
};

/// One sequence through the layer, with the module's parameters as they are now.
using Layer = std::function<Rows(const torch::nn::Module& module, const Rows& x, const Keys& keys)>;

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

/// Everything before the query and itself.
inline bool causal(const headwright::Pair& pair) { return pair.j <= pair.i; }

struct Subject {
  std::string variant;
  headwright::Dims dims;
  headwright::ParamMap params;
  Layer layer;
  std::function<bool(const headwright::Pair&)> pairs = causal;      // what the mask in `params` shows
  std::function<void(const torch::nn::Module&)> prepare = nullptr;  // changes parameters after they are drawn

  std::shared_ptr<headwright::Attention> make() const {
    at::manual_seed(11);
    auto module = headwright::test::make<headwright::Attention>(variant, dims, params);
    module->to(at::kDouble);
    const at::NoGradGuard no_grad;
    for (auto& parameter : module->parameters()) parameter.add_(at::randn_like(parameter) * 0.1);  // ones hide mistakes
    if (prepare) prepare(*module);
    module->eval();
    return module;
  }

  void set(const std::string& row, const headwright::Value& value) {
    for (auto& [name, old] : params) {
      if (name != row) continue;
      old = value;
      return;
    }
    params.emplace_back(row, value);
  }

  Subject with(const headwright::MaskCase& mask) const {
    auto other = *this;
    other.set("mask", {mask.mask});
    other.pairs = mask.sees;
    return other;
  }

  Subject with_kernel(const std::string& kernel) const {
    auto other = *this;
    other.dims.kernel = kernel;
    return other;
  }
};

/// What a layer is given. Undefined tensors are absent.
struct Given {
  at::Tensor x, memory;     // (batch, seq, d_model), (batch, keys, d_memory)
  at::Tensor mask;          // (batch, keys), of what the queries look at
  at::Tensor document_ids;  // (batch, seq)

  at::Tensor of(headwright::Attention& module) const {
    if (memory.defined()) return module.forward({.x = x, .memory = memory, .memory_mask = mask});
    return module.forward({.x = x, .key_mask = mask, .document_ids = document_ids});
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

inline Keys keys_of(const Subject& subject, const Given& given, std::int64_t b) {
  const auto& source = given.memory.defined() ? given.memory : given.x;
  Keys keys{.source = rows_of(source[b]), .shown = Shown(static_cast<std::size_t>(source.size(1)), true), .sees = {}};
  if (given.mask.defined()) keys.shown = shown_of(given.mask[b]);
  std::vector<long> documents(keys.shown.size(), 0);
  for (std::size_t j = 0; given.document_ids.defined() && j < documents.size(); ++j) {
    documents[j] = given.document_ids[b][static_cast<std::int64_t>(j)].item<long>();
  }
  keys.documents = documents;
  const auto k_len = static_cast<long>(keys.shown.size()), first = k_len - static_cast<long>(given.x.size(1));
  keys.sees = [=, shown = keys.shown, pairs = subject.pairs](std::size_t i, std::size_t j) {
    headwright::Pair pair{.i = static_cast<long>(i) + first, .j = static_cast<long>(j), .k_len = k_len};
    pair.unpadded = shown[j];
    pair.same_document = first != 0 || documents[i] == documents[j];
    return shown[j] && pairs(pair);
  };
  return keys;
}

/// The layer over each row of the batch: (batch, seq, d_out)
inline at::Tensor by_loops(const Subject& subject, const torch::nn::Module& module, const Given& given) {
  std::vector<at::Tensor> batch;
  for (std::int64_t b = 0; b < given.x.size(0); ++b) {
    for (const auto& row : subject.layer(module, rows_of(given.x[b]), keys_of(subject, given, b))) {
      batch.push_back(at::tensor(row, at::kDouble));
    }
  }
  return at::stack(batch).view({given.x.size(0), given.x.size(1), -1});
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
    EXPECT_LE(furthest(y, by_loops(subject, *module, {.x = x, .mask = mask})), 1e-10);  // float64
    const auto unmasked = module->forward({.x = x});
    EXPECT_LE(furthest(unmasked.slice(0, 0, 1), y.slice(0, 0, 1)), 1e-10);
  }
}

inline void expect_gradients(const Subject& subject) {
  const auto module = subject.make();
  for (const std::int64_t length : {1, 2, 5}) {
    SCOPED_TRACE(testing::Message() << "length " << length);
    const auto mask = three_masks(length);
    const auto drawn = at::randn({3, length, subject.dims.d_model}, at::kDouble);
    const Reference reference = [&](const torch::nn::Module& now, const Rows& x, std::int64_t b) {
      auto keys = keys_of(subject, {.x = drawn, .mask = mask}, b);
      keys.source = x;
      return subject.layer(now, x, keys);
    };
    expect_agreement(reference, *module, drawn,
                     [&](const at::Tensor& x) { return module->forward({.x = x, .key_mask = mask}); });
  }
}

/// Parameters and inputs are rounded first, so that what is left is the layer's own error, relative to the largest
/// value. size: of the inputs.
inline void expect_dtypes(const Subject& subject, double size = 1) {
  const at::NoGradGuard no_grad;
  struct Type {
    at::ScalarType dtype;
    double tolerance;
  };
  for (const auto& [dtype, tolerance] : {Type{at::kFloat, 1e-5}, {at::kHalf, 2e-3}, {at::kBFloat16, 1.6e-2}}) {
    SCOPED_TRACE(toString(dtype));
    const auto module = subject.make();
    module->to(dtype);
    const auto x = at::randn({3, 17, subject.dims.d_model}).mul(size).to(dtype), mask = three_masks(17);
    const auto y = module->forward({.x = x, .key_mask = mask});
    EXPECT_EQ(y.scalar_type(), dtype);
    module->to(at::kDouble);
    const auto expected = by_loops(subject, *module, {.x = x.to(at::kDouble), .mask = mask});
    EXPECT_LE(furthest(y, expected), tolerance * expected.abs().max().item<double>());
  }
}

/// Token by token, and in parts of several lengths, equal the whole.
inline void expect_cached(const Subject& subject) {
  const at::NoGradGuard no_grad;
  const auto module = subject.make();
  const auto x = at::randn({3, 17, subject.dims.d_model}, at::kDouble), mask = three_masks(17);
  const auto whole = by_loops(subject, *module, {.x = x, .mask = mask});
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

/// Directions in the inputs and all parameters together, along which slopes of a loss are compared.
struct Slopes {
  at::Tensor g;  // the loss: sum(y * g)
  std::vector<std::vector<at::Tensor>> directions;
  std::vector<double> expected;
};

inline std::vector<at::Tensor> tensors_of(const torch::nn::Module& module, const Given& given) {
  auto tensors = module.parameters();
  tensors.push_back(given.x);
  if (given.memory.defined()) tensors.push_back(given.memory);
  return tensors;
}

/// By central differences of the loops.
inline Slopes slopes_by_loops(const Subject& subject, const torch::nn::Module& module, const Given& given) {
  constexpr double kStep = 1e-5;  // error of the difference: step^2, and 1e-16 / step from rounding
  const at::NoGradGuard no_grad;
  Slopes slopes{.g = at::randn_like(by_loops(subject, module, given)), .directions = {}, .expected = {}};
  const auto tensors = tensors_of(module, given);
  for (int n = 0; n < 2; ++n) {
    auto& direction = slopes.directions.emplace_back();
    for (const auto& tensor : tensors) {
      direction.push_back(at::randn_like(tensor) / std::sqrt(static_cast<double>(tensor.numel())));
    }
    const auto loss_after = [&](double step) {
      for (std::size_t i = 0; i < tensors.size(); ++i) tensors[i].add_(direction[i], step);
      const auto found = (by_loops(subject, module, given) * slopes.g).sum().item<double>();
      for (std::size_t i = 0; i < tensors.size(); ++i) tensors[i].sub_(direction[i], step);
      return found;
    };
    slopes.expected.push_back((loss_after(kStep) - loss_after(-kStep)) / (2 * kStep));
  }
  return slopes;
}

/// Of autograd. y: of the module, from `given`. A tensor without a gradient has no slope.
inline void expect_slopes(const Slopes& slopes, const torch::nn::Module& module, const Given& given,
                          const at::Tensor& y) {
  (y * slopes.g).sum().backward();
  const auto tensors = tensors_of(module, given);
  for (std::size_t n = 0; n < slopes.expected.size(); ++n) {
    double slope = 0;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      const auto& gradient = tensors[i].grad();
      if (!gradient.defined()) continue;
      ASSERT_TRUE(gradient.isfinite().all().item<bool>()) << "tensor " << i;
      slope += (gradient * slopes.directions[n][i]).sum().item<double>();
    }
    EXPECT_NEAR(slope, slopes.expected[n], 1e-7 * std::max(1.0, std::abs(slopes.expected[n]))) << "direction " << n;
  }
  for (const auto& tensor : tensors) tensor.mutable_grad().reset();
}

/// Outputs, and slopes of a loss, by each kernel that can; by its own sums where the layer has no kernel.
inline void expect_given(const Subject& subject, const Given& given) {
  given.x.requires_grad_(true);
  if (given.memory.defined()) given.memory.requires_grad_(true);
  const bool core = headwright::test::variant(subject.variant).claims(subject.dims, subject.params).core;
  at::Tensor expected;
  Slopes slopes;
  for (const auto& kernel : core ? headwright::kernel_names() : std::vector<std::string>{"auto"}) {
    SCOPED_TRACE(kernel);
    const auto module = subject.with_kernel(kernel).make();  // of the same parameters
    if (kernel == "sdpa") {
      try {
        module->kernel();
      } catch (const headwright::Error&) {
        continue;  // cannot express it
      }
    }
    if (!expected.defined()) {
      expected = by_loops(subject, *module, given);
      slopes = slopes_by_loops(subject, *module, given);
    }
    const auto y = given.of(*module);
    EXPECT_LE(furthest(y.detach(), expected), 1e-10);  // float64
    expect_slopes(slopes, *module, given, y);
  }
}

/// x: (3, length, d_model), three_masks(keys), and a memory of `keys` tokens where the layer reads one.
inline Given draw_given(const Subject& subject, std::int64_t length, std::int64_t keys = 0) {
  const auto draw = [](std::int64_t tokens, std::int64_t width) { return at::randn({3, tokens, width}, at::kDouble); };
  at::manual_seed(7);
  Given given{.x = draw(length, subject.dims.d_model),
              .memory = {},
              .mask = three_masks(keys > 0 ? keys : length),
              .document_ids = {}};
  if (keys > 0) given.memory = draw(keys, subject.dims.d_memory);
  return given;
}

/// With every mask of the algebra, a key mask and documents.
inline void expect_masks(const Subject& subject) {
  for (const auto& mask : headwright::mask_cases()) {
    SCOPED_TRACE(mask.name);
    auto given = draw_given(subject, 11);
    const auto each = at::arange(11);
    if (mask.mask.reads_documents()) {
      given.document_ids = at::stack({each.floor_divide(4), each.floor_divide(3), each.floor_divide(11)});
    }
    expect_given(subject.with(mask), given);
  }
}

/// Keys and values of a memory of another width, longer and shorter than x, with every mask that has a meaning there.
inline void expect_memory(Subject subject) {
  subject.dims.d_memory = subject.dims.d_model + subject.dims.n_heads;
  subject.set("cross", {true});
  for (const auto& mask : headwright::mask_cases()) {
    if (mask.mask.reads_documents()) continue;  // a memory has none
    for (const auto& [length, keys] : {std::pair<std::int64_t, std::int64_t>{5, 9}, {9, 5}}) {
      SCOPED_TRACE(testing::Message() << mask.name << ", " << length << " over " << keys);
      expect_given(subject.with(mask), draw_given(subject, length, keys));
    }
  }
}

/// More tokens than the blockwise kernel takes at once.
inline void expect_past_a_tile(const Subject& subject) {
  for (const auto& mask : headwright::mask_cases()) {
    if (mask.name != "full" && mask.name != "causal" && mask.name != "longformer" && mask.name != "random") continue;
    SCOPED_TRACE(mask.name);
    expect_given(subject.with(mask), draw_given(subject, 130));
  }
}

inline void expect_all(const Subject& subject) {
  expect_lengths(subject);
  expect_gradients(subject);
  expect_dtypes(subject);
}

}  // namespace loops

// What is asked of every layer that runs along a sequence: equal to loops over doubles at odd lengths, with hidden
// tokens, in every dtype; the same in one go, in pieces from a cache, and exported.
#pragma once
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "exporter/script.h"
#include "exporter/verify.h"
#include "headwright/attention.h"
#include "helpers/variants.h"
#include "model/build.h"
#include "reference/against_loops.h"

// A name of its own: layer_loops.h has a Subject, too, and one program must not hold two under one name.
namespace loops::inline along_a_sequence {

/// One sequence, from the module's parameters as they are now. visible: the tokens that are not hidden.
using Layer = std::function<Rows(const torch::nn::Module& module, const Rows& x, const std::vector<bool>& visible)>;

struct Subject {
  std::string variant;
  headwright::Dims dims;
  headwright::ParamMap params;
  Layer layer;
  bool takes_key_mask = true;

  std::shared_ptr<headwright::Attention> make() const {
    at::manual_seed(11);
    const auto module = headwright::test::make<headwright::Attention>(variant, dims, params);
    module->to(at::kDouble);
    const at::NoGradGuard no_grad;
    for (auto& parameter : module->parameters()) parameter.add_(at::randn_like(parameter) * 0.1);  // ones hide mistakes
    module->eval();
    return module;
  }

  headwright::Claims claims() const { return headwright::test::variant(variant).claims(dims, params); }

  /// key_mask: (batch, seq), undefined = nothing is hidden
  Reference reference(const at::Tensor& key_mask) const {
    return [layer = layer, key_mask](const torch::nn::Module& module, const Rows& x, std::int64_t b) {
      std::vector<bool> visible(x.size(), true);
      for (std::size_t t = 0; key_mask.defined() && t < x.size(); ++t) {
        visible[t] = key_mask[b][static_cast<std::int64_t>(t)].item<bool>();
      }
      return layer(module, x, visible);
    };
  }

  /// Nothing hidden; and where the layer takes a mask: (3, seq), nothing, the first and every third token, everything.
  std::vector<at::Tensor> masks(std::int64_t seq_len) const {
    if (!takes_key_mask) return {at::Tensor()};
    auto visible = at::ones({3, seq_len}, at::kBool);
    for (std::int64_t t = 0; t < seq_len; t += 3) visible[1][t] = false;
    visible.select(0, 2).fill_(false);
    return {at::Tensor(), visible};
  }

  at::Tensor draw(std::int64_t seq_len) const { return at::randn({3, seq_len, dims.d_model}, at::kDouble); }
};

/// The largest difference, as a share of the largest value expected. module and y: float64.
inline double difference(const Reference& reference, const torch::nn::Module& module, const at::Tensor& x,
                         const at::Tensor& y) {
  double most = 0, largest = 0;
  for (std::int64_t b = 0; b < x.size(0); ++b) {
    const auto expected = reference(module, rows_of(x[b]), b), got = rows_of(y[b]);
    if (got.size() != expected.size() || got[0].size() != expected[0].size()) return INFINITY;
    for (std::size_t t = 0; t < expected.size(); ++t) {
      for (std::size_t c = 0; c < expected[t].size(); ++c) {
        if (!std::isfinite(got[t][c])) return INFINITY;
        most = std::max(most, std::abs(got[t][c] - expected[t][c]));
        largest = std::max(largest, std::abs(expected[t][c]));
      }
    }
  }
  return most == 0 ? 0 : most / largest;
}

inline void expect_outputs_as_by_loops(const Subject& subject) {
  const auto module = subject.make();
  for (const std::int64_t seq_len : {1, 2, 17, 63, 130}) {
    const auto x = subject.draw(seq_len);
    for (const auto& mask : subject.masks(seq_len)) {
      const auto y = module->forward({.x = x, .key_mask = mask});
      // float64: sums of at most 130 tokens
      EXPECT_LE(difference(subject.reference(mask), *module, x, y), 1e-10)
          << "length " << seq_len << (mask.defined() ? ", with hidden tokens" : "");
    }
  }
}

/// Of x and of every parameter, by central differences of the loops.
inline void expect_gradients_as_by_loops(const Subject& subject,
                                         const std::vector<std::int64_t>& lengths = {1, 2, 17}) {
  for (const auto seq_len : lengths) {
    for (const auto& mask : subject.masks(seq_len)) {
      SCOPED_TRACE("length " + std::to_string(seq_len) + (mask.defined() ? ", with hidden tokens" : ""));
      const auto module = subject.make();
      expect_agreement(subject.reference(mask), *module, subject.draw(seq_len),
                       [&](const at::Tensor& x) { return module->forward({.x = x, .key_mask = mask}); });
    }
  }
}

/// At a length of more than one chunk: the slope along one direction in x and all parameters together.
inline void expect_slope_across_chunks_as_by_loops(const Subject& subject) {
  constexpr double kStep = 1e-5;
  for (const auto& mask : subject.masks(130)) {
    const auto module = subject.make();
    auto x = subject.draw(130).requires_grad_(true);
    const auto y = module->forward({.x = x, .key_mask = mask});
    const auto g = at::randn_like(y).detach();
    (y * g).sum().backward();
    auto tensors = module->parameters();
    tensors.push_back(x);
    const at::NoGradGuard no_grad;
    std::vector<at::Tensor> directions;
    double slope = 0;
    for (const auto& tensor : tensors) {
      directions.push_back(at::randn_like(tensor) / std::sqrt(static_cast<double>(tensor.numel())));
      slope += (tensor.grad() * directions.back()).sum().item<double>();
    }
    const auto loss_after = [&](double step) {
      for (std::size_t i = 0; i < tensors.size(); ++i) tensors[i].add_(directions[i], step);
      const auto found = loss(subject.reference(mask), *module, x, g);
      for (std::size_t i = 0; i < tensors.size(); ++i) tensors[i].sub_(directions[i], step);
      return found;
    };
    const auto expected = (loss_after(kStep) - loss_after(-kStep)) / (2 * kStep);
    EXPECT_NEAR(slope, expected, 1e-7 * std::max(1.0, std::abs(expected)))
        << (mask.defined() ? "with hidden tokens" : "");
  }
}

inline void expect_every_dtype_as_by_loops(const Subject& subject) {
  struct Precision {
    at::ScalarType dtype;
    double tolerance;  // a few units in the last place of the dtype, at the largest value
  };
  const at::NoGradGuard no_grad;
  for (const auto& [dtype, tolerance] :
       {Precision{at::kFloat, 1e-5}, Precision{at::kHalf, 2e-3}, Precision{at::kBFloat16, 1.6e-2}}) {
    for (const std::int64_t seq_len : {17, 130}) {
      for (const auto& mask : subject.masks(seq_len)) {
        const auto module = subject.make();
        module->to(dtype);
        const auto x = subject.draw(seq_len).to(dtype);
        const auto y = module->forward({.x = x, .key_mask = mask});
        ASSERT_EQ(y.scalar_type(), dtype);
        module->to(at::kDouble);  // the rounded parameters
        EXPECT_LE(difference(subject.reference(mask), *module, x.to(at::kDouble), y.to(at::kDouble)), tolerance)
            << toString(dtype) << ", length " << seq_len << (mask.defined() ? ", with hidden tokens" : "");
      }
    }
  }
}

/// The outputs of x cut into pieces of these lengths, the last one as long as it takes, fed one after the other.
inline at::Tensor fed_in_pieces(headwright::Attention& module, const at::Tensor& x, const at::Tensor& key_mask,
                                headwright::Cache& cache, const std::vector<std::int64_t>& lengths) {
  std::vector<at::Tensor> outputs;
  std::int64_t begin = 0;
  for (std::size_t i = 0; begin < x.size(1); ++i) {
    const auto end = i < lengths.size() ? std::min(begin + lengths[i], x.size(1)) : x.size(1);
    const auto mask = key_mask.defined() ? key_mask.slice(1, 0, end) : key_mask;
    outputs.push_back(module.forward({.x = x.slice(1, begin, end), .key_mask = mask, .cache = &cache}));
    begin = end;
  }
  return at::cat(outputs, 1);
}

/// Token by token (the first 17), and in pieces that end within a chunk, at its end and behind it.
inline void expect_pieces_as_the_whole(const Subject& subject) {
  EXPECT_TRUE(subject.claims().cache);
  const at::NoGradGuard no_grad;
  for (const auto dtype : {at::kDouble, at::kFloat, at::kHalf, at::kBFloat16}) {
    const double tolerance = dtype == at::kDouble  ? 1e-10
                             : dtype == at::kFloat ? 1e-5
                             : dtype == at::kHalf  ? 2e-3
                                                   : 1.6e-2;
    const auto module = subject.make();
    module->to(dtype);
    for (const std::int64_t seq_len : {17, 130}) {
      for (const auto& mask : subject.masks(seq_len)) {
        const auto x = subject.draw(seq_len).to(dtype);
        const auto whole = module->forward({.x = x, .key_mask = mask}).to(at::kDouble);
        for (const auto& lengths : {std::vector<std::int64_t>(17, 1), {3, 1, 60, 64}, {65, 64}}) {
          auto cache = module->make_cache(3, seq_len);
          const auto pieces = fed_in_pieces(*module, x, mask, cache, lengths).to(at::kDouble);
          EXPECT_EQ(cache.tokens(), seq_len);
          EXPECT_LE((pieces - whole).abs().max().item<double>(), tolerance * whole.abs().max().item<double>())
              << toString(dtype) << ", length " << seq_len << (mask.defined() ? ", with hidden tokens" : "");
        }
      }
    }
  }
}

inline void expect_nothing_from_nothing(const Subject& subject) {
  const auto module = subject.make();
  const auto d_out = subject.claims().d_out > 0 ? subject.claims().d_out : subject.dims.d_model;
  for (const auto& [batch, seq_len] : {std::pair<std::int64_t, std::int64_t>{2, 0}, {0, 3}, {0, 0}}) {
    const auto x = at::zeros({batch, seq_len, subject.dims.d_model}, at::kDouble);
    const auto mask = subject.takes_key_mask ? at::ones({batch, seq_len}, at::kBool) : at::Tensor();
    EXPECT_EQ(module->forward({.x = x}).sizes(), (std::vector<std::int64_t>{batch, seq_len, d_out}));
    EXPECT_EQ(module->forward({.x = x, .key_mask = mask}).sizes(), (std::vector<std::int64_t>{batch, seq_len, d_out}));
    if (!subject.claims().cache) continue;
    auto cache = module->make_cache(batch, 3);
    EXPECT_EQ(module->forward({.x = x, .cache = &cache}).sizes(), (std::vector<std::int64_t>{batch, seq_len, d_out}));
    EXPECT_EQ(cache.tokens(), seq_len);
  }
}

/// Its config's model exported, at lengths on both sides of a chunk, with hidden tokens and documents, and of nothing.
inline void expect_exported_as_running(const std::string& config) {
  for (const std::string dtype : {"float64", "float32", "bfloat16", "float16"}) {
    const auto plan = headwright::test::shipped_plan(config, {"run.dtype=" + dtype});
    const auto model = headwright::model::build(plan);
    model->eval();
    const at::NoGradGuard no_grad;
    const auto script = headwright::exporter::make_script(*model, plan, {2, 6, 0});
    const auto checks = headwright::exporter::verify(
        script, *model, plan,
        {{1, 1, 0}, {3, 63, 0}, {1, 64, 0}, {2, 65, 0}, {2, 130, 0}, {2, 200, 0}, {2, 0, 0}, {0, 3, 0}});
    EXPECT_EQ(checks.size(), 8U);
  }
}

/// What a note of this name says of a forward pass over x.
inline at::Tensor noted(headwright::Attention& module, const std::string& name, const at::Tensor& x,
                        const at::Tensor& key_mask = {}) {
  headwright::Recorder recorder;
  recorder.want(name);
  module.forward({.x = x, .key_mask = key_mask, .recorder = &recorder});
  return recorder.notes().size() == 1 ? recorder.notes()[0].value : at::Tensor();
}

}  // namespace loops::inline along_a_sequence

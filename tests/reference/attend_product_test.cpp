// Any mask with any modifier and normaliser, with any kernel: outputs, weights and gradients against loops over
// doubles.
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include "core/kernels/blockwise.h"
#include "reference/attend_cases.h"

namespace headwright {
namespace {

constexpr long kBuckets = 6, kMaxDistance = 9;

/// T5's bucket, from the formula: exact up to a quarter of the buckets on each side, then by the logarithm.
long bucket(long i, long j) {
  const long half = kBuckets / 2, exact = half / 2, far = std::abs(i - j);
  const long side = j > i ? half : 0;
  if (far < exact) return side + far;
  const double log_share = std::log(static_cast<double>(far) / static_cast<double>(exact)) /
                           std::log(static_cast<double>(kMaxDistance) / static_cast<double>(exact));
  return side + std::min(half - 1, exact + static_cast<long>(log_share * static_cast<double>(half - exact)));
}

struct Learned {
  at::Tensor slopes, table, sink;  // (n_heads), at least float32 as ALiBi keeps them; (n_buckets, n_heads), (n_heads)
};

struct ModifierCase {
  std::string name;
  std::function<void(Scoring&, const Learned&)> ask;
  std::function<void(reference::Problem&, const Learned&)> expect;
  bool to_sdpa = false;  // scaled_dot_product_attention can express it
};

void expect_alibi(reference::Problem& p, const Learned& learned, long shift) {
  const auto slopes = to_reference(learned.slopes.view({1, 1, -1}));
  p.bias = [=](long h, long i, long j) {
    return -slopes.at(0, 0, h, 0) * static_cast<double>(std::abs(i + shift - j));
  };
}

long shift_of(const reference::Problem& p) { return p.k.sizes[2] - p.q.sizes[2]; }

std::vector<ModifierCase> modifier_cases() {
  const auto softcap = ScoreModifier::softcap(0.7);
  return {
      {"none", [](Scoring&, const Learned&) {}, [](reference::Problem&, const Learned&) {}, true},
      {"scale", [](Scoring& s, const Learned&) { s.scale = 0.3; },
       [](reference::Problem& p, const Learned&) { p.scale = 0.3; }, true},
      {"softcap", [=](Scoring& s, const Learned&) { s.modifiers = {softcap}; },
       [](reference::Problem& p, const Learned&) { p.cap = 0.7; }},
      {"alibi", [](Scoring& s, const Learned& l) { s.modifiers = {alibi(l.slopes)}; },
       [](reference::Problem& p, const Learned& l) { expect_alibi(p, l, shift_of(p)); }},
      {"alibi_then_softcap", [=](Scoring& s, const Learned& l) { s.modifiers = {alibi(l.slopes), softcap}; },
       [](reference::Problem& p, const Learned& l) {
         expect_alibi(p, l, shift_of(p));
         p.cap = 0.7;
       }},
      {"softcap_then_alibi", [=](Scoring& s, const Learned& l) { s.modifiers = {softcap, alibi(l.slopes)}; },
       [](reference::Problem& p, const Learned& l) {
         expect_alibi(p, l, shift_of(p));
         p.cap = 0.7;
         p.bias_first = false;
       }},
      {"relative_bias",
       [](Scoring& s, const Learned& l) { s.modifiers = {relative_bias(l.table, true, kMaxDistance)}; },
       [](reference::Problem& p, const Learned& l) {
         const auto table = to_reference(l.table.unsqueeze(0));
         const auto shift = shift_of(p);
         p.bias = [=](long h, long i, long j) { return table.at(0, bucket(i + shift, j), h, 0); };
       }},
      {"sink", [](Scoring& s, const Learned& l) { s.sink = l.sink; },
       [](reference::Problem& p, const Learned& l) { p.sink = to_reference(l.sink.view({1, 1, -1})).data; }},
      {"softmax_one", [](Scoring& s, const Learned&) { s.normaliser = Normaliser::softmax_one; },
       [](reference::Problem& p, const Learned&) { p.sink.assign(static_cast<std::size_t>(p.q.sizes[1]), 0.0); }},
      {"sigmoid", [](Scoring& s, const Learned&) { s.normaliser = Normaliser::sigmoid; },
       [](reference::Problem& p, const Learned&) {
         p.normaliser = reference::Normaliser::sigmoid;
         p.sigmoid_bias = -std::log(static_cast<double>(p.k.sizes[2]));
       }},
  };
}

/// What is walked through: every mask with every modifier at these sizes.
struct Walk {
  Extents sizes;
  bool key_mask = false, lse = false;
  std::vector<ModifierCase> modifiers = modifier_cases();
  core::BlockSizes tiles{.queries = 4, .keys = 3, .span = 6};  // so small that every loop goes round several times
  at::ScalarType dtype = at::kDouble;
  double tolerance = 1e-10;  // float64, a few hundred terms a sum
};

struct Setting {
  at::Tensor q, k, v, dy, dlse;
  Learned learned;
  Scoring scoring;
  double tolerance;
};

Setting make_setting(const Walk& walk, const MaskCase& mask, const ModifierCase& modifier) {
  at::manual_seed(7);
  const auto& sizes = walk.sizes;
  const auto sums = walk.dtype == at::kDouble ? at::kDouble : at::kFloat;
  const auto draw = [&](at::IntArrayRef shape) { return at::randn(shape, at::kDouble).to(walk.dtype); };
  Setting s{.q = draw({kBatch, sizes.n_heads, sizes.q_len, kHead}),
            .k = draw({kBatch, sizes.n_kv_heads, sizes.k_len, kHead}),
            .v = draw({kBatch, sizes.n_kv_heads, sizes.k_len, kHead}),
            .dy = draw({kBatch, sizes.n_heads, sizes.q_len, kHead}),
            .dlse = at::zeros({kBatch, sizes.n_heads, sizes.q_len}, sums),
            .learned = {draw({sizes.n_heads}).to(sums), draw({kBuckets, sizes.n_heads}), draw({sizes.n_heads})},
            .scoring = {},
            .tolerance = walk.tolerance};
  for (auto* each : {&s.q, &s.k, &s.v, &s.learned.slopes, &s.learned.table, &s.learned.sink}) {
    each->requires_grad_(true);
  }
  s.scoring.mask = mask.mask;
  s.scoring.same_sequence = sizes.q_len == sizes.k_len;
  if (walk.key_mask) s.scoring.key_mask = padding(sizes.k_len, true);
  if (mask.mask.reads_documents()) s.scoring.document_ids = documents(sizes.k_len);
  modifier.ask(s.scoring, s.learned);
  s.scoring.needs_lse = walk.lse && s.scoring.normaliser != Normaliser::sigmoid;
  if (s.scoring.needs_lse) s.dlse = at::randn_like(s.dlse);
  return s;
}

reference::Problem problem_of(const Setting& s, const Extents& sizes, const MaskCase& mask,
                              const ModifierCase& modifier) {
  reference::Problem problem{to_reference(s.q),
                             to_reference(s.k),
                             to_reference(s.v),
                             1 / std::sqrt(static_cast<double>(kHead)),
                             0,
                             seen_by(mask, s.scoring, sizes)};
  modifier.expect(problem, s.learned);
  return problem;
}

struct Expected {
  reference::Result result;
  reference::Gradients gradients;
  std::vector<double> slopes, table;  // gradients
};

Expected expected_of(const Setting& s, const Extents& sizes, const reference::Problem& problem) {
  const auto heads = static_cast<std::size_t>(sizes.n_heads);
  std::vector<double> slopes(heads), table(kBuckets * heads);
  const auto shift = sizes.k_len - sizes.q_len;
  auto gradients = reference::gradients(
      problem, to_reference(s.dy), to_reference(s.dlse), [&](long h, long i, long j, double gradient) {
        const auto head = static_cast<std::size_t>(h);
        slopes[head] -= gradient * static_cast<double>(std::abs(i + shift - j));
        table[static_cast<std::size_t>(bucket(i + shift, j)) * heads + head] += gradient;
      });
  return {reference::attend(problem), std::move(gradients), std::move(slopes), std::move(table)};
}

/// Sums over all pairs, whose terms cancel row by row: what blockwise takes off in a row comes from y, which is
/// rounded.
double tolerance_of_learned(const Setting& s) { return s.q.element_size() < 4 ? 2 * s.tolerance : s.tolerance; }

void expect_learned(const Setting& s, const Expected& expected) {
  const double tolerance = tolerance_of_learned(s);
  if (s.learned.slopes.grad().defined()) expect_near(s.learned.slopes.grad(), expected.slopes, tolerance, "slopes");
  if (s.learned.table.grad().defined()) expect_near(s.learned.table.grad(), expected.table, tolerance, "table");
  if (s.learned.sink.grad().defined()) expect_near(s.learned.sink.grad(), expected.gradients.sink, s.tolerance, "sink");
}

void clear_gradients(const Setting& s) {
  for (const auto& x : {s.q, s.k, s.v, s.learned.slopes, s.learned.table, s.learned.sink}) x.mutable_grad().reset();
}

void expect_kernel_equals(const std::string& kernel, Setting& s, const Expected& expected) {
  SCOPED_TRACE(kernel);
  clear_gradients(s);
  s.scoring.kernel = kernel;
  ASSERT_EQ(choose_kernel(s.scoring).effective, kernel);
  const auto [y, lse] = attend(s.q, s.k, s.v, s.scoring);
  expect_near(y, expected.result.y.data, s.tolerance, "y");
  auto loss = (y * s.dy).sum();
  if (lse.defined()) {
    expect_near(lse, expected.result.lse.data, s.tolerance, "lse");
    loss = loss + (lse.masked_fill(lse.isinf(), 0) * s.dlse).sum();
  }
  loss.backward();
  expect_near(s.q.grad(), expected.gradients.q.data, s.tolerance, "gradient of q");
  expect_near(s.k.grad(), expected.gradients.k.data, s.tolerance, "gradient of k");
  expect_near(s.v.grad(), expected.gradients.v.data, s.tolerance, "gradient of v");
  expect_learned(s, expected);
}

/// The blockwise sums at tiles that are smaller than the kernel's own.
void expect_small_tiles_equal(Setting& s, const Expected& expected, const core::BlockSizes& tiles) {
  SCOPED_TRACE("small tiles");
  const at::NoGradGuard no_grad;
  const core::Blockwise work(s.q, s.k, s.v, s.scoring, tiles);
  const auto result = work.forward();
  const auto gradients = work.backward(result, s.dy, s.scoring.needs_lse ? s.dlse : at::Tensor());
  expect_near(result.y, expected.result.y.data, s.tolerance, "y");
  if (s.scoring.normaliser != Normaliser::sigmoid)
    expect_near(result.lse, expected.result.lse.data, s.tolerance, "lse");
  expect_near(gradients.q, expected.gradients.q.data, s.tolerance, "gradient of q");
  expect_near(gradients.k, expected.gradients.k.data, s.tolerance, "gradient of k");
  expect_near(gradients.v, expected.gradients.v.data, s.tolerance, "gradient of v");
  if (gradients.sink.defined()) expect_near(gradients.sink, expected.gradients.sink, s.tolerance, "sink");
  for (const auto& learned : gradients.learned) {  // of one modifier; undefined where no rectangle is seen
    if (!learned.defined()) continue;
    const bool slopes = learned.dim() == 1;
    expect_near(learned, slopes ? expected.slopes : expected.table, tolerance_of_learned(s),
                slopes ? "slopes" : "table");
  }
}

void go(const Walk& walk) {
  const auto& sizes = walk.sizes;
  for (const auto& mask : mask_cases()) {
    if (mask.mask.reads_documents() && sizes.q_len > sizes.k_len) continue;
    for (const auto& modifier : walk.modifiers) {
      SCOPED_TRACE(mask.name + " " + modifier.name + " q_len " + std::to_string(sizes.q_len) + " k_len " +
                   std::to_string(sizes.k_len) + " " + toString(walk.dtype));
      auto s = make_setting(walk, mask, modifier);
      const auto expected = expected_of(s, sizes, problem_of(s, sizes, mask, modifier));
      for (const auto& kernel : kernel_names()) {
        if (kernel == "sdpa" && (!modifier.to_sdpa || s.scoring.needs_lse)) {
          s.scoring.kernel = kernel;
          EXPECT_THROW(attend(s.q, s.k, s.v, s.scoring), Error) << "a substitute was taken";
        } else {
          expect_kernel_equals(kernel, s, expected);
        }
      }
      expect_small_tiles_equal(s, expected, walk.tiles);
      s.scoring.kernel = "auto";
      expect_near(attention_weights(s.q, s.k, s.scoring), expected.result.weights.data, walk.tolerance, "weights");
    }
  }
}

TEST(AttendProduct, EveryMaskWithEveryModifierInEveryKernelEqualsLoops) {
  go({.sizes = {.n_heads = 4, .n_kv_heads = 2, .q_len = 17, .k_len = 17}});
  go({.sizes = {.n_heads = 4, .n_kv_heads = 2, .q_len = 17, .k_len = 17}, .key_mask = true, .lse = true});
}

TEST(AttendProduct, WithFewerAndWithMoreQueriesThanKeys) {
  go({.sizes = {.n_heads = 2, .n_kv_heads = 1, .q_len = 3, .k_len = 13}, .key_mask = true, .lse = true});
  go({.sizes = {.n_heads = 2, .n_kv_heads = 2, .q_len = 7, .k_len = 4}});
}

TEST(AttendProduct, BelowAndPastTheSizeOfATile) {
  go({.sizes = {.n_heads = 2, .n_kv_heads = 1, .q_len = 63, .k_len = 63},
      .key_mask = true,
      .lse = true,
      .tiles = {.queries = 20, .keys = 9, .span = 27}});
  go({.sizes = {.n_heads = 2, .n_kv_heads = 1, .q_len = 130, .k_len = 130},
      .tiles = {.queries = 60, .keys = 40, .span = 80}});
}

TEST(AttendProduct, EveryModifierAndNormaliserInEveryDtype) {
  struct Precision {
    at::ScalarType dtype;
    double tolerance;  // a few units in the last place of the dtype, at values near 1
  };
  for (const auto& [dtype, tolerance] : {Precision{at::kFloat, 1e-5}, {at::kHalf, 2e-3}, {at::kBFloat16, 1.6e-2}}) {
    go({.sizes = {.n_heads = 4, .n_kv_heads = 2, .q_len = 17, .k_len = 17},
        .key_mask = true,
        .lse = true,
        .dtype = dtype,
        .tolerance = tolerance});
  }
}

ModifierCase modifier_case(const std::string& name) {
  for (const auto& modifier : modifier_cases()) {
    if (modifier.name == name) return modifier;
  }
  throw Error("no modifier case is called " + name);
}

/// exp(-100) is below all numbers of float32, so the share that such a sink leaves cannot be divided by.
TEST(AttendProduct, ASinkFarAboveAllScoresLeavesTheirWeightsAndGradientsRight) {
  const Walk walk{.sizes = {.n_heads = 4, .n_kv_heads = 2, .q_len = 17, .k_len = 17},
                  .key_mask = true,
                  .lse = true,
                  .dtype = at::kFloat,
                  .tolerance = 1e-5};
  const auto sink = modifier_case("sink");
  for (const auto& mask : mask_cases()) {
    SCOPED_TRACE(mask.name);
    auto s = make_setting(walk, mask, sink);
    {
      const at::NoGradGuard no_grad;
      s.learned.sink.fill_(100);
      s.learned.sink[1] = 20;
    }
    const auto expected = expected_of(s, walk.sizes, problem_of(s, walk.sizes, mask, sink));
    for (const std::string kernel : {"reference", "blockwise"}) expect_kernel_equals(kernel, s, expected);
    expect_small_tiles_equal(s, expected, walk.tiles);
    expect_near(attention_weights(s.q, s.k, s.scoring), expected.result.weights.data, walk.tolerance, "weights");
  }
}

/// Distances past the greatest share a bucket: here tens of thousands of pairs, of one sign.
TEST(AttendProduct, ABucketOfThousandsOfPairsKeepsItsGradientInHalfTypes) {
  const auto bias = modifier_case("relative_bias");
  const auto full = mask_cases()[0];
  for (const auto& [dtype, tolerance] : {std::pair{at::kHalf, 2e-3}, {at::kBFloat16, 1.6e-2}}) {
    SCOPED_TRACE(toString(dtype));
    const Walk walk{.sizes = {.n_heads = 2, .n_kv_heads = 1, .q_len = 200, .k_len = 200},
                    .tiles = {.queries = 60, .keys = 40, .span = 80},
                    .dtype = dtype,
                    .tolerance = tolerance};
    auto s = make_setting(walk, full, bias);
    {
      const at::NoGradGuard no_grad;
      s.v.add_(at::arange(200).div(50).unsqueeze(-1));  // later keys are worth more, so that their bias should rise
      s.dy.abs_();
    }
    const auto expected = expected_of(s, walk.sizes, problem_of(s, walk.sizes, full, bias));
    for (const std::string kernel : {"reference", "blockwise"}) {
      SCOPED_TRACE(kernel);
      clear_gradients(s);
      s.scoring.kernel = kernel;
      attend(s.q, s.k, s.v, s.scoring).y.backward(s.dy);
      expect_near(s.learned.table.grad(), expected.table, tolerance, "table");
    }
    const at::NoGradGuard no_grad;
    const core::Blockwise work(s.q, s.k, s.v, s.scoring, walk.tiles);
    expect_near(work.backward(work.forward(), s.dy, {}).learned.at(0), expected.table, tolerance, "small tiles, table");
  }
}

}  // namespace
}  // namespace headwright

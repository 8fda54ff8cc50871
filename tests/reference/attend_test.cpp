// Every kernel against loops over doubles: outputs and gradients, odd lengths, every mask.
#include "headwright/attend.h"

#include "reference/attend_cases.h"

namespace headwright {
namespace {

/// Every length with every other one, each pair with the next of these heads.
std::vector<Extents> pairs_of_lengths() {
  constexpr std::pair<long, long> kHeads[] = {{4, 2}, {2, 2}, {4, 1}, {1, 1}};
  std::vector<Extents> pairs;
  for (const long q_len : {1, 2, 17, 63, 130}) {
    for (const long k_len : {1, 2, 17, 63, 130}) {
      const auto& [n_heads, n_kv_heads] = kHeads[pairs.size() % std::size(kHeads)];
      pairs.push_back({n_heads, n_kv_heads, q_len, k_len});
    }
  }
  pairs.push_back({6, 2, 17, 17});
  return pairs;
}

struct Case {
  Extents sizes;
  MaskCase mask;
  int key_mask = 0;  // 0 none, 1 given, 2 given with an empty second row
  double cap = 0;
  std::vector<std::string> kernels = kernel_names();
  at::ScalarType dtype = at::kDouble;
  double tolerance = 1e-10;  // float64, up to 130 terms a sum
  bool lse = false;
};

struct Drawn {
  at::Tensor q, k, v, dy, dlse;
};

Drawn draw(const Case& c) {
  at::manual_seed(7);
  const auto heads = [&](long n_heads, long length) {
    return at::randn({kBatch, n_heads, length, kHead}).to(c.dtype).requires_grad_(true);
  };
  Drawn drawn{.q = heads(c.sizes.n_heads, c.sizes.q_len),
              .k = heads(c.sizes.n_kv_heads, c.sizes.k_len),
              .v = heads(c.sizes.n_kv_heads, c.sizes.k_len),
              .dy = {},
              .dlse = at::zeros({kBatch, c.sizes.n_heads, c.sizes.q_len}, at::kDouble)};
  drawn.dy = at::randn_like(drawn.q).detach();
  if (c.lse) drawn.dlse = at::randn_like(drawn.dlse);
  return drawn;
}

void expect_equal(const Drawn& d, const Scoring& scoring, const reference::Result& expected,
                  const reference::Gradients& gradients, double tolerance) {
  const auto got = attend(d.q, d.k, d.v, scoring);
  expect_near(got.y, expected.y.data, tolerance, "y");
  expect_near(attention_weights(d.q, d.k, scoring), expected.weights.data, tolerance, "weights");
  auto loss = (got.y * d.dy).sum();
  if (scoring.needs_lse) {
    expect_near(got.lse, expected.lse.data, tolerance, "lse");
    loss = loss + (got.lse.masked_fill(got.lse.isinf(), 0) * d.dlse).sum();
  }
  for (const auto& x : {d.q, d.k, d.v}) x.mutable_grad().reset();
  loss.backward();
  expect_near(d.q.grad(), gradients.q.data, tolerance, "gradient of q");
  expect_near(d.k.grad(), gradients.k.data, tolerance, "gradient of k");
  expect_near(d.v.grad(), gradients.v.data, tolerance, "gradient of v");
}

void compare(const Case& c) {
  const auto drawn = draw(c);
  Scoring scoring{.mask = c.mask.mask, .same_sequence = c.sizes.q_len == c.sizes.k_len, .needs_lse = c.lse};
  if (c.key_mask > 0) scoring.key_mask = padding(c.sizes.k_len, c.key_mask == 2);
  if (c.mask.mask.reads_documents() && c.sizes.q_len <= c.sizes.k_len) scoring.document_ids = documents(c.sizes.k_len);
  if (c.cap > 0) scoring.modifiers = {ScoreModifier::softcap(c.cap)};
  const reference::Problem problem{to_reference(drawn.q),
                                   to_reference(drawn.k),
                                   to_reference(drawn.v),
                                   1 / std::sqrt(static_cast<double>(kHead)),
                                   c.cap,
                                   seen_by(c.mask, scoring, c.sizes)};
  const auto expected = reference::attend(problem);
  const auto gradients = reference::gradients(problem, to_reference(drawn.dy), to_reference(drawn.dlse));
  for (const auto& kernel : c.kernels) {
    SCOPED_TRACE(kernel + " " + c.mask.name + " q_len " + std::to_string(c.sizes.q_len) + " k_len " +
                 std::to_string(c.sizes.k_len) + " key_mask " + std::to_string(c.key_mask) + " " + toString(c.dtype));
    scoring.kernel = kernel;
    expect_equal(drawn, scoring, expected, gradients, c.tolerance);
  }
}

TEST(Attend, EveryKernelEqualsLoopsInFloat64WithEveryMaskAtOddLengths) {
  for (const auto& mask : mask_cases()) {
    for (const auto& sizes : pairs_of_lengths()) {
      for (const int key_mask : {0, 1, 2}) compare({.sizes = sizes, .mask = mask, .key_mask = key_mask});
    }
  }
}

TEST(Attend, TheLogOfTheSumAndItsGradientEqualLoops) {
  for (const auto& mask : mask_cases()) {
    for (const auto& sizes : pairs_of_lengths()) {
      for (const int key_mask : {0, 2}) {
        compare(
            {.sizes = sizes, .mask = mask, .key_mask = key_mask, .kernels = {"reference", "blockwise"}, .lse = true});
      }
    }
  }
}

TEST(Attend, SoftcapEqualsLoopsAndComesBeforeTheMask) {
  for (const auto& mask : mask_cases()) {
    for (const auto& sizes : pairs_of_lengths()) {
      compare({.sizes = sizes,
               .mask = mask,
               .key_mask = 1,
               .cap = 0.7,
               .kernels = {"reference", "blockwise"},
               .lse = true});
    }
  }
}

TEST(Attend, EveryKernelEqualsLoopsInEveryDtype) {
  struct Precision {
    at::ScalarType dtype;
    double tolerance;  // a few units in the last place of the dtype, at values near 1
  };
  const Precision precisions[] = {{at::kFloat, 1e-5}, {at::kHalf, 2e-3}, {at::kBFloat16, 1.6e-2}};
  for (const auto& [dtype, tolerance] : precisions) {
    for (const auto& mask : mask_cases()) {
      for (const Extents& sizes : {Extents{4, 2, 17, 17}, Extents{2, 2, 2, 17}}) {
        compare({.sizes = sizes, .mask = mask, .key_mask = 2, .dtype = dtype, .tolerance = tolerance});
      }
    }
  }
}

}  // namespace
}  // namespace headwright

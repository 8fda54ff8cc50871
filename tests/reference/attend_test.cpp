// Every kernel against loops over doubles: outputs and gradients, odd lengths, every mask.
#include "headwright/attend.h"

#include "reference/attend_cases.h"

namespace headwright {
namespace {

const Sizes kSizes[] = {{1, 1, 1, 1},  {4, 4, 17, 17}, {4, 2, 17, 17}, {4, 1, 2, 17},
                        {6, 2, 17, 2}, {2, 2, 63, 63}, {4, 2, 1, 63},  {3, 3, 63, 1}};

struct Case {
  Sizes sizes;
  MaskCase mask;
  int key_mask = 0;  // 0 none, 1 given, 2 given with an empty second row
  double cap = 0;
  std::string kernel;
  at::ScalarType dtype = at::kDouble;
  double tolerance = 1e-10;  // float64, up to 63 terms a sum
  bool lse = false;
};

void compare(const Case& c) {
  SCOPED_TRACE(c.kernel + " " + c.mask.name + " q_len " + std::to_string(c.sizes.q_len) + " k_len " +
               std::to_string(c.sizes.k_len) + " key_mask " + std::to_string(c.key_mask) + " " + toString(c.dtype));
  at::manual_seed(7);
  const auto draw = [&](long heads, long length) {
    return at::randn({kBatch, heads, length, kHead}).to(c.dtype).requires_grad_(true);
  };
  const auto q = draw(c.sizes.n_heads, c.sizes.q_len);
  const auto k = draw(c.sizes.n_kv_heads, c.sizes.k_len), v = draw(c.sizes.n_kv_heads, c.sizes.k_len);
  Scoring scoring{.mask = c.mask.mask, .same_sequence = c.sizes.q_len == c.sizes.k_len, .needs_lse = c.lse};
  scoring.kernel = c.kernel;
  if (c.key_mask > 0) scoring.key_mask = padding(c.sizes.k_len, c.key_mask == 2);
  if (c.mask.mask.reads_documents() && c.sizes.q_len <= c.sizes.k_len) scoring.document_ids = documents(c.sizes.k_len);
  if (c.cap > 0) scoring.modifiers = {ScoreModifier::softcap(c.cap)};

  const auto sees = seen_by(c.mask, scoring, c.sizes);
  const reference::Problem problem{
      to_reference(q), to_reference(k), to_reference(v), 1 / std::sqrt(static_cast<double>(kHead)), c.cap, sees};
  const auto expected = reference::attend(problem);
  const auto got = attend(q, k, v, scoring);
  expect_near(got.y, expected.y.data, c.tolerance, "y");
  expect_near(attention_weights(q, k, scoring), expected.weights.data, c.tolerance, "weights");

  const auto dy = at::randn_like(got.y);
  auto loss = (got.y * dy).sum();
  auto dlse = at::zeros({kBatch, c.sizes.n_heads, c.sizes.q_len}, at::kDouble);
  if (c.lse) {
    expect_near(got.lse, expected.lse.data, c.tolerance, "lse");
    dlse = at::randn_like(dlse);
    const auto finite = got.lse.isfinite();
    loss = loss + (got.lse.masked_fill(finite.logical_not(), 0) * dlse).sum();
  }
  loss.backward();
  const auto gradients = reference::gradients(problem, to_reference(dy), to_reference(dlse));
  expect_near(q.grad(), gradients.q.data, c.tolerance, "gradient of q");
  expect_near(k.grad(), gradients.k.data, c.tolerance, "gradient of k");
  expect_near(v.grad(), gradients.v.data, c.tolerance, "gradient of v");
}

TEST(Attend, EveryKernelEqualsLoopsInFloat64WithEveryMaskAtOddLengths) {
  for (const auto& kernel : kernel_names()) {
    for (const auto& mask : mask_cases()) {
      for (const auto& sizes : kSizes) {
        for (const int key_mask : {0, 1, 2})
          compare({.sizes = sizes, .mask = mask, .key_mask = key_mask, .kernel = kernel});
      }
    }
  }
}

TEST(Attend, TheLogOfTheSumAndItsGradientEqualLoops) {
  for (const auto* kernel : {"reference", "blockwise"}) {
    for (const auto& mask : mask_cases()) {
      for (const auto& sizes : kSizes) {
        for (const int key_mask : {0, 2}) {
          compare({.sizes = sizes, .mask = mask, .key_mask = key_mask, .kernel = kernel, .lse = true});
        }
      }
    }
  }
}

TEST(Attend, SoftcapEqualsLoopsAndComesBeforeTheMask) {
  for (const auto& mask : mask_cases()) {
    for (const auto& sizes : kSizes) {
      compare({.sizes = sizes, .mask = mask, .key_mask = 1, .cap = 0.7, .kernel = "auto", .lse = true});
    }
  }
}

TEST(Attend, EveryKernelEqualsLoopsInEveryDtype) {
  struct Precision {
    at::ScalarType dtype;
    double tolerance;  // a few units in the last place of the dtype, at values near 1
  };
  const Precision precisions[] = {{at::kFloat, 1e-5}, {at::kHalf, 2e-3}, {at::kBFloat16, 1.6e-2}};
  for (const auto& kernel : kernel_names()) {
    for (const auto& [dtype, tolerance] : precisions) {
      for (const auto& mask : mask_cases()) {
        for (const Sizes& sizes : {Sizes{4, 2, 17, 17}, Sizes{2, 2, 2, 17}}) {
          compare(
              {.sizes = sizes, .mask = mask, .key_mask = 2, .kernel = kernel, .dtype = dtype, .tolerance = tolerance});
        }
      }
    }
  }
}

}  // namespace
}  // namespace headwright

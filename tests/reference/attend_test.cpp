// Every kernel against loops over doubles: outputs and gradients, odd lengths, every mask.
#include "headwright/attend.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "reference/attend_reference.h"

namespace headwright {
namespace {

// What a test asks for, and what each (query, key) pair should see by position from the end.
struct MaskCase {
  std::string name;
  Mask mask;
  std::function<bool(long i, long j, bool unpadded)> sees;  // i, j <= 0 counted from the end of the keys
};

std::vector<MaskCase> mask_cases() {
  const auto causal = [](long i, long j) { return j <= i; };
  const auto window3 = [](long i, long j) { return j <= i && i - j < 3; };
  return {
      {"full", Mask(), [](long, long, bool) { return true; }},
      {"causal", Mask::causal(), [=](long i, long j, bool) { return causal(i, j); }},
      {"window1", Mask::window(1), [](long i, long j, bool) { return i == j; }},
      {"window3", Mask::window(3), [=](long i, long j, bool) { return window3(i, j); }},
      {"padding", Mask::key_padding(), [](long, long, bool unpadded) { return unpadded; }},
      {"all", Mask::all({Mask::causal(), Mask::window(3), Mask::key_padding()}),
       [=](long i, long j, bool unpadded) { return window3(i, j) && unpadded; }},
      {"any", Mask::any({Mask::window(1), Mask::negation(Mask::causal())}),
       [=](long i, long j, bool) { return i == j || !causal(i, j); }},
      {"not_causal", Mask::negation(Mask::causal()), [=](long i, long j, bool) { return !causal(i, j); }},
      {"not_full", Mask::negation(Mask()), [](long, long, bool) { return false; }},
      {"not_padding", Mask::negation(Mask::key_padding()), [](long, long, bool unpadded) { return !unpadded; }},
      {"any_padding", Mask::any({Mask::key_padding(), Mask::window(1)}),
       [](long i, long j, bool unpadded) { return unpadded || i == j; }},
  };
}

struct Sizes {
  long n_heads, n_kv_heads, q_len, k_len;
};
const Sizes kSizes[] = {{1, 1, 1, 1},  {4, 4, 17, 17}, {4, 2, 17, 17}, {4, 1, 2, 17},
                        {6, 2, 17, 2}, {2, 2, 63, 63}, {4, 2, 1, 63},  {3, 3, 63, 1}};
constexpr long kBatch = 2, kHead = 8;

// The first row sees keys from its fourth from the end on; the second has every other key, or none (case 6).
at::Tensor padding(long k_len, bool second_row_empty) {
  auto mask = at::zeros({kBatch, k_len}, at::kBool);
  for (long j = 0; j < k_len; ++j) {
    mask[0][j] = j >= k_len - 4;
    mask[1][j] = !second_row_empty && j % 2 == 0;
  }
  return mask;
}

reference::Tensor4 to_reference(const at::Tensor& x) {
  const auto wide = x.detach().to(at::kDouble).contiguous();
  const auto full = wide.dim() == 3 ? wide.unsqueeze(-1) : wide;
  reference::Tensor4 out(full.size(0), full.size(1), full.size(2), full.size(3));
  out.data.assign(wide.data_ptr<double>(), wide.data_ptr<double>() + wide.numel());
  return out;
}

void expect_near(const at::Tensor& got, const reference::Tensor4& expected, double tolerance, const std::string& what) {
  const auto flat = got.detach().to(at::kDouble).contiguous();
  ASSERT_EQ(static_cast<std::size_t>(flat.numel()), expected.data.size()) << what;
  double worst = 0, largest = 1;  // errors are seen against the largest value: sums cancel
  for (const double b : expected.data) largest = std::isfinite(b) ? std::max(largest, std::abs(b)) : largest;
  for (long i = 0; i < flat.numel(); ++i) {
    const double a = flat.data_ptr<double>()[i], b = expected.data[static_cast<std::size_t>(i)];
    if (a == b) continue;  // infinities of one sign
    ASSERT_TRUE(std::isfinite(a)) << what << ": got " << a << ", expected " << b;
    worst = std::max(worst, std::abs(a - b) / largest);
  }
  EXPECT_LE(worst, tolerance) << what;
}

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
  if (c.cap > 0) scoring.modifiers = {ScoreModifier::softcap(c.cap)};

  const bool* shown = c.key_mask > 0 ? scoring.key_mask.data_ptr<bool>() : nullptr;
  const auto sees = [&](long b, long i, long j) {
    const bool unpadded = shown == nullptr || shown[b * c.sizes.k_len + j];
    return unpadded && c.mask.sees(i - c.sizes.q_len + 1, j - c.sizes.k_len + 1, unpadded);
  };
  const reference::Problem problem{
      to_reference(q), to_reference(k), to_reference(v), 1 / std::sqrt(static_cast<double>(kHead)), c.cap, sees};
  const auto expected = reference::attend(problem);
  const auto got = attend(q, k, v, scoring);
  expect_near(got.y, expected.y, c.tolerance, "y");
  expect_near(attention_weights(q, k, scoring), expected.weights, c.tolerance, "weights");

  const auto dy = at::randn_like(got.y);
  auto loss = (got.y * dy).sum();
  auto dlse = at::zeros({kBatch, c.sizes.n_heads, c.sizes.q_len}, at::kDouble);
  if (c.lse) {
    expect_near(got.lse, expected.lse, c.tolerance, "lse");
    dlse = at::randn_like(dlse);
    const auto finite = got.lse.isfinite();
    loss = loss + (got.lse.masked_fill(finite.logical_not(), 0) * dlse).sum();
  }
  loss.backward();
  const auto gradients = reference::gradients(problem, to_reference(dy), to_reference(dlse));
  expect_near(q.grad(), gradients.q, c.tolerance, "gradient of q");
  expect_near(k.grad(), gradients.k, c.tolerance, "gradient of k");
  expect_near(v.grad(), gradients.v, c.tolerance, "gradient of v");
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
  for (const auto& mask : mask_cases()) {
    for (const auto& sizes : kSizes) {
      for (const int key_mask : {0, 2}) {
        compare({.sizes = sizes, .mask = mask, .key_mask = key_mask, .kernel = "reference", .lse = true});
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

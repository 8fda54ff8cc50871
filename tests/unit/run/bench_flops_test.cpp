// Operations against the formulas of the products, and memory against the sizes of tensors.
#include "run/bench_flops.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gmock/gmock.h>

#include "headwright/attend.h"
#include "run/bench_memory.h"
#include "run/bench_timing.h"

namespace headwright::run {
namespace {

template <class Action>
std::int64_t flops_of(const Action& action) {
  const FlopCounter counter;
  action();
  return counter.flops();
}

at::Tensor random(at::IntArrayRef sizes) { return at::randn(sizes, at::kFloat); }

TEST(BenchFlops, CountsAMultiplicationAndAnAdditionForEachTermOfAProduct) {
  const auto a = random({3, 5}), b = random({5, 7}), x = random({2, 3, 5}), y = random({2, 5, 7});
  EXPECT_EQ(flops_of([&] { at::mm(a, b); }), 2 * 3 * 5 * 7);
  EXPECT_EQ(flops_of([&] { at::addmm(random({7}), a, b); }), 2 * 3 * 5 * 7);
  EXPECT_EQ(flops_of([&] { at::bmm(x, y); }), 2 * 2 * 3 * 5 * 7);
  EXPECT_EQ(flops_of([&] { at::baddbmm(random({2, 3, 7}), x, y); }), 2 * 2 * 3 * 5 * 7);
  EXPECT_EQ(flops_of([&] { random({2, 3, 7}).baddbmm_(x, y); }), 2 * 2 * 3 * 5 * 7);
  EXPECT_EQ(flops_of([&] { at::mv(a, random({5})); }), 2 * 3 * 5);
  EXPECT_EQ(flops_of([&] { at::dot(random({5}), random({5})); }), 2 * 5);
}

TEST(BenchFlops, CountsACompositeOperatorOnce) {
  EXPECT_EQ(flops_of([&] { at::matmul(random({2, 4, 3, 5}), random({2, 4, 5, 7})); }), 2 * 2 * 4 * 3 * 5 * 7);
  EXPECT_EQ(flops_of([&] { at::linear(random({2, 3, 5}), random({7, 5}), random({7})); }), 2 * 2 * 3 * 5 * 7);
  EXPECT_EQ(flops_of([&] { at::einsum("bij,bjk->bik", {random({2, 3, 5}), random({2, 5, 7})}); }), 2 * 2 * 3 * 5 * 7);
}

TEST(BenchFlops, LeavesOutWhatIsDoneElementByElement) {
  EXPECT_EQ(flops_of([&] { random({64, 64}).exp().mul(3).softmax(-1).sum(); }), 0);
}

TEST(BenchFlops, CountsFusedAttentionForwardAndBackward) {
  const std::int64_t batch = 2, heads = 3, q_len = 5, k_len = 7, d = 4;
  const auto q = random({batch, heads, q_len, d}).requires_grad_(), k = random({batch, heads, k_len, d});
  const auto work = [&](bool causal, const at::Tensor& keys) {
    return Work{[=] { return at::scaled_dot_product_attention(q, keys, keys, {}, 0, causal); }, {q}};
  };
  const auto full = needs_of_forward(work(false, k));
  EXPECT_EQ(full.flops, batch * heads * q_len * k_len * 2 * (d + d));
  EXPECT_TRUE(full.uncounted.empty());
  EXPECT_EQ(needs_of_backward(work(false, k)).flops, batch * heads * q_len * k_len * 2 * 5 * d);
  EXPECT_EQ(needs_of_forward(work(true, q.detach())).flops, batch * heads * (q_len * (q_len + 1) / 2) * 2 * (d + d));
  // More keys than queries: torch's causal form leaves the last keys out
  EXPECT_EQ(needs_of_forward(work(true, k)).flops, batch * heads * (q_len * (q_len + 1) / 2) * 2 * (d + d));
}

TEST(BenchFlops, CountsWhatBlockwiseSkipsAsNothing) {
  const std::int64_t seq = 1024, d = 8;
  const auto q = random({1, 1, seq, d});
  const auto flops = [&](const Mask& mask) {
    return flops_of([&] { attend(q, q, q, {.mask = mask, .same_sequence = true, .kernel = "blockwise"}); });
  };
  EXPECT_EQ(flops(Mask()), 2 * seq * seq * 2 * d);
  EXPECT_LT(flops(Mask::window(64)), 2 * seq * seq * 2 * d / 3);
  EXPECT_GE(flops(Mask::window(64)), 2 * (seq - 64) * 64 * 2 * d);
}

TEST(BenchFlops, NamesWhatItDoesNotCount) {
  const FlopCounter counter;
  at::fft_fft(random({4, 8}));
  at::conv1d(random({1, 2, 9}), random({2, 2, 3}));
  EXPECT_THAT(counter.uncounted(), testing::ElementsAre("aten::_fft_r2c", "aten::convolution"));
  EXPECT_EQ(counter.flops(), 0);
}

TEST(BenchFlops, CountsInEveryThreadAndOnlyWhileItLives) {
  const auto a = random({3, 5}), b = random({5, 7});
  const auto count = flops_of([&] {
    at::parallel_for(0, 8, 1, [&](std::int64_t begin, std::int64_t end) {
      for (auto i = begin; i < end; ++i) at::mm(a, b);
    });
  });
  EXPECT_EQ(count, 8 * 2 * 3 * 5 * 7);
  at::mm(a, b);
  EXPECT_EQ(flops_of([] {}), 0);
}

TEST(BenchMemory, IsTheMostThatLivesAtOnce) {
  const auto before = random({1000});
  at::Tensor kept;
  {
    const PeakMemory memory(at::kCPU);
    EXPECT_EQ(memory.extra_bytes(), 0);
    {
      const auto first = at::empty({1000}, at::kFloat);
    }
    {
      const auto second = at::empty({1500}, at::kFloat);
    }
    EXPECT_EQ(memory.extra_bytes(), 6000);
    kept = at::empty({1000}, at::kFloat);
    const auto other = at::empty({1000}, at::kFloat);
    EXPECT_EQ(memory.extra_bytes(), 8000);
  }
  kept.resize_({4000});  // outlives the watch, and asks its allocator again
  kept.fill_(1);
  EXPECT_EQ(kept.sum().item<float>(), 4000);
  const PeakMemory next(at::kCPU);
  kept.reset();  // of before: not taken off what this watch counts
  const auto fresh = at::empty({10}, at::kFloat);
  EXPECT_EQ(next.extra_bytes(), 40);
}

TEST(BenchMemory, OfDenseScoresIsAtLeastTheirSize) {
  const auto q = random({1, 2, 256, 8}).requires_grad_();
  const auto work = [&](const std::string& kernel) {
    return Work{[=] { return attend(q, q, q, {.kernel = kernel}).y; }, {q}};
  };
  const std::int64_t scores = 2 * 256 * 256 * 4;
  EXPECT_GE(needs_of_forward(work("reference")).peak_extra_bytes.value(), 2 * scores);
  EXPECT_LT(needs_of_forward(work("sdpa")).peak_extra_bytes.value(), scores);
  EXPECT_GT(needs_of_backward(work("reference")).peak_extra_bytes.value(),
            needs_of_forward(work("reference")).peak_extra_bytes.value());
}

TEST(BenchTiming, TheMedianIsTheMiddleAndTheSpreadIsTheEnds) {
  EXPECT_EQ(median_of({3, 1, 2}), 2);
  EXPECT_EQ(median_of({4, 1, 3, 2}), 2.5);
  EXPECT_EQ(median_of({7}), 7);
  const auto spread = spread_of({5, 1, 9});
  EXPECT_EQ(spread.median, 5);
  EXPECT_EQ(spread.min, 1);
  EXPECT_EQ(spread.max, 9);
}

TEST(BenchTiming, TimesTheRightPass) {
  const auto a = random({64, 64}).requires_grad_();
  int calls = 0;
  const Work work{[&] {
                    ++calls;
                    EXPECT_EQ(a.mul(2).requires_grad(), calls > 1);
                    return a.mul(2);
                  },
                  {a}};
  EXPECT_GT(time_forward(work), 0);
  EXPECT_GT(time_backward(work), 0);
  EXPECT_EQ(calls, 2);
  EXPECT_FALSE(a.grad().defined());
}

}  // namespace
}  // namespace headwright::run

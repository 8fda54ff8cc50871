// Operations against the formulas of the products, and memory against the sizes of tensors.
#include "bench/flops.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gmock/gmock.h>

#include "bench/machine.h"
#include "bench/memory.h"
#include "bench/timing.h"
#include "headwright/attend.h"

namespace headwright::bench {
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

template <class Action>
std::vector<Operation> operations_of(const Action& action) {
  const FlopCounter counter;
  action();
  return counter.operations();
}

MATCHER_P2(Takes, flops, bytes, "") { return arg.flops == flops && arg.bytes == bytes; }

TEST(BenchFlops, ListsEachOperatorThatCallsNoOtherWithWhatItReadsAndWrites) {
  using testing::Contains, testing::ElementsAre;
  const auto a = random({3, 5}), b = random({5, 7}), c = random({3, 5});
  EXPECT_THAT(operations_of([&] { at::add(a, c); }), ElementsAre(Takes(0, 3 * 15 * 4)));
  EXPECT_THAT(operations_of([&] { a.neg_(); }), Contains(Takes(0, 2 * 15 * 4)));
  EXPECT_THAT(operations_of([&] { at::mm(a, b); }), Contains(Takes(2 * 3 * 5 * 7, (15 + 35 + 21) * 4)));
  EXPECT_THAT(operations_of([&] { a.transpose(0, 1); }), ElementsAre(Takes(0, 0)));
  EXPECT_THAT(operations_of([&] { at::empty({100}); }), ElementsAre(Takes(0, 0)));
  EXPECT_THAT(operations_of([&] { at::cat({a, c}); }), ElementsAre(Takes(0, 2 * 30 * 4)));
  const auto composite = operations_of([&] { at::linear(a, random({7, 5})); });
  EXPECT_EQ(std::ranges::count_if(composite, [](const auto& one) { return one.flops > 0; }), 1);
}

TEST(BenchMachine, AnOperatorTakesAsLongAsItsFlopsOrItsBytes) {
  const Machine machine{
      .flops_per_second = 100, .near_bytes_per_second = 10, .far_bytes_per_second = 1e6, .seconds_per_operation = 0.5};
  EXPECT_DOUBLE_EQ(predicted_seconds({}, machine), 0);
  EXPECT_DOUBLE_EQ(predicted_seconds({{.flops = 200, .bytes = 10}}, machine), 0.5 + 2);
  EXPECT_DOUBLE_EQ(predicted_seconds({{.flops = 100, .bytes = 30}, {}}, machine), 0.5 + 3 + 0.5);
  EXPECT_DOUBLE_EQ(predicted_seconds({{.bytes = 4'000'000}}, machine), 0.5 + 4);  // beyond the caches
}

TEST(BenchMachine, MeasuresRatesThatCanBe) {
  const auto works = machine_works(at::kFloat, at::kCPU);
  Turns turns;
  const auto entered = enter(turns, works);
  turns.round(true, true);
  const auto machine = machine_of(turns, entered);
  EXPECT_GT(machine.flops_per_second, 1e8);
  EXPECT_GT(machine.near_bytes_per_second, 1e7);
  EXPECT_GT(machine.far_bytes_per_second, 1e7);
  EXPECT_GT(machine.seconds_per_operation, 1e-8);
  EXPECT_LT(machine.seconds_per_operation, 1e-2);
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

TEST(BenchMemory, TakesBackByAddressWhatItGaveAndWhatWasThereBefore) {
  auto* below = c10::GetAllocator(c10::kCPU);
  auto* const earlier = below->raw_allocate(400);
  void* kept = nullptr;
  {
    const PeakMemory memory(at::kCPU);
    auto* current = c10::GetAllocator(c10::kCPU);
    kept = current->raw_allocate(800);
    current->raw_deallocate(earlier);  // was not counted
    current->raw_deallocate(current->raw_allocate(80));
    EXPECT_EQ(memory.extra_bytes(), 880);
  }
  c10::GetAllocator(c10::kCPU)->raw_deallocate(kept);
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
}  // namespace headwright::bench

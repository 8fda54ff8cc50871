// Measures the rate of a large matrix product and of memory, for an estimate beside each measurement.
#include "bench/machine.h"

#include <ATen/ATen.h>

#include <algorithm>

namespace headwright::bench {
namespace {

constexpr std::int64_t kNear = 1 << 16, kFar = 1 << 26;      // bytes of a copy: well within a cache, and beyond all
constexpr std::int64_t kNearCopies = 64, kOperations = 200;  // of one turn
constexpr std::int64_t kNearest = std::int64_t{1} << 20;     // bytes of an operator that finds its tensors in a cache

/// As large as a fraction of a second allows.
Work large_product(const at::TensorOptions& options) {
  constexpr std::int64_t kSmallest = 512, kLargest = 2048;
  constexpr double kMostSeconds = 1;
  const auto product = [&](std::int64_t size) {
    const auto a = at::randn({size, size}, options), b = at::randn({size, size}, options);
    return Work{[a, b] { return at::mm(a, b); }, {a}};
  };
  const auto best = [](const Work& work) {
    const auto once = time_forward(work);
    return std::min({once, time_forward(work), time_forward(work)});
  };
  auto chosen = product(kSmallest);
  for (auto size = kSmallest; size < kLargest && 8 * best(chosen) < kMostSeconds; size *= 2) {
    chosen = product(2 * size);
  }
  return chosen;
}

Work copies(std::int64_t bytes, std::int64_t count, const at::TensorOptions& options) {
  const auto from = at::zeros({bytes}, options.dtype(at::kByte)), to = at::zeros_like(from);
  return {[=] {
            for (std::int64_t i = 0; i < count; ++i) to.copy_(from);
            return to;
          },
          {from}};
}

Work small_operations(const at::TensorOptions& options) {
  const auto a = at::ones({1}, options), b = at::ones({1}, options);
  return {[=] {
            at::Tensor sum;
            for (std::int64_t i = 0; i < kOperations; ++i) sum = at::add(a, b);
            return sum;
          },
          {a}};
}

}  // namespace

MachineWorks machine_works(at::ScalarType dtype, at::Device device) {
  const auto options = at::TensorOptions().dtype(dtype).device(device);
  MachineWorks works{.product = large_product(options),
                     .near_copy = copies(kNear, kNearCopies, options),
                     .far_copy = copies(kFar, 1, options),
                     .small = small_operations(options)};
  works.gemm_size = works.product.leaves[0].size(0);
  return works;
}

MachineTurns enter(Turns& turns, const MachineWorks& works) {
  const auto add = [&](const Work& work) { return turns.add(work, Turns::Pass::forward); };
  return {add(works.product), add(works.near_copy), add(works.far_copy), add(works.small), works.gemm_size};
}

Machine machine_of(const Turns& turns, const MachineTurns& machine) {
  const auto rate = [&](double amount, std::size_t turn) { return amount / median_of(turns.seconds(turn)); };
  const auto size = static_cast<double>(machine.gemm_size);
  const auto twice = [](std::int64_t bytes) { return 2 * static_cast<double>(bytes); };  // read and written
  return {.flops_per_second = rate(2 * size * size * size, machine.product),
          .gemm_size = machine.gemm_size,
          .near_bytes_per_second = rate(twice(kNear * kNearCopies), machine.near_copy),
          .far_bytes_per_second = rate(twice(kFar), machine.far_copy),
          .seconds_per_operation = median_of(turns.seconds(machine.small)) / static_cast<double>(kOperations)};
}

double predicted_seconds(const std::vector<Operation>& operations, const Machine& machine) {
  double seconds = 0;
  for (const auto& [flops, bytes] : operations) {
    const auto rate = bytes <= kNearest ? machine.near_bytes_per_second : machine.far_bytes_per_second;
    seconds += machine.seconds_per_operation +
               std::max(static_cast<double>(flops) / machine.flops_per_second, static_cast<double>(bytes) / rate);
  }
  return seconds;
}

}  // namespace headwright::bench

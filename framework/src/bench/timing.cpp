// Times one pass from a settled input to a finished result, and counts what it needs.
#include "bench/timing.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <chrono>

#include "bench/memory.h"

namespace headwright::bench {
namespace {

/// Other devices go on working while the CPU has moved on.
void wait_for(const at::Tensor& y) {
  const auto device = y.device();
  if (!device.is_cpu()) c10::impl::VirtualGuardImpl(device.type()).synchronizeDevice(device.index());
}

template <class Action>
double seconds_of(const at::Tensor& before, const Action& action) {
  wait_for(before);
  const auto start = std::chrono::steady_clock::now();
  wait_for(action());
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

at::Tensor with_graph(const Work& work) {
  const at::AutoGradMode graph(true);
  return work.forward();
}

/// The first gradient that there is.
at::Tensor gradients(const Work& work, const at::Tensor& y, const at::Tensor& of_y) {
  const auto found = torch::autograd::grad({y}, work.leaves, {of_y}, /*retain_graph=*/false, /*create_graph=*/false,
                                           /*allow_unused=*/true);
  const auto defined = std::ranges::find_if(found, [](const at::Tensor& gradient) { return gradient.defined(); });
  return defined == found.end() ? y : *defined;
}

}  // namespace

double median_of(std::vector<double> samples) {
  std::ranges::sort(samples);
  const auto middle = samples.size() / 2;
  return samples.size() % 2 == 1 ? samples[middle] : (samples[middle - 1] + samples[middle]) / 2;
}

Spread spread_of(const std::vector<double>& samples) {
  const auto [least, most] = std::ranges::minmax(samples);
  return {median_of(samples), least, most};
}

double time_forward(const Work& work) {
  const at::NoGradGuard no_grad;
  return seconds_of(work.leaves.front(), work.forward);
}

double time_backward(const Work& work) {
  const auto y = with_graph(work);
  const auto of_y = at::ones_like(y);
  return seconds_of(of_y, [&] { return gradients(work, y, of_y); });
}

bool has_backward(const Work& work) { return with_graph(work).requires_grad(); }

Needs needs_of_forward(const Work& work) {
  const at::NoGradGuard no_grad;
  const FlopCounter counter;
  const PeakMemory memory(work.leaves.front().device());
  const auto y = work.forward();
  return {counter.flops(), counter.operations(), counter.uncounted(), memory.extra_bytes()};
}

Needs needs_of_backward(const Work& work) {
  const PeakMemory memory(work.leaves.front().device());
  const auto y = with_graph(work);
  const auto of_y = at::ones_like(y);
  const FlopCounter counter;
  const auto gradient = gradients(work, y, of_y);
  return {counter.flops(), counter.operations(), counter.uncounted(), memory.extra_bytes()};
}

}  // namespace headwright::bench

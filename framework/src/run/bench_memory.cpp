#include "run/bench_memory.h"

#include <c10/core/Allocator.h>
#include <c10/core/CachingDeviceAllocator.h>

#include <algorithm>
#include <atomic>
#include <memory>

namespace headwright::run {
namespace {

/// Stands before the allocator of the CPU. A block remembers that it was counted, so that it may outlive the watch;
/// the allocator itself is never destroyed, since storages that can be resized keep a pointer to it.
class Counting final : public c10::Allocator {
 public:
  void start() {
    ++watch_;
    bytes_ = 0;
    peak_ = 0;
    below_ = c10::GetAllocator(c10::kCPU);
    c10::SetAllocator(c10::kCPU, this);
  }
  void stop() { c10::SetAllocator(c10::kCPU, below_); }
  std::int64_t peak() const { return peak_; }

  c10::DataPtr allocate(std::size_t size) override {
    auto memory = below_->allocate(size);
    if (memory.get() == nullptr) return memory;
    void* data = memory.get();
    const auto device = memory.device();
    auto block = std::make_unique<Block>(Block{this, std::move(memory), static_cast<std::int64_t>(size), watch_});
    const auto now = bytes_ += block->size;
    auto peak = peak_.load();
    while (now > peak && !peak_.compare_exchange_weak(peak, now)) {
    }
    return {data, block.release(), &release, device};
  }

  void copy_data(void* to, const void* from, std::size_t count) const override { default_copy_data(to, from, count); }

 private:
  struct Block {
    Counting* counting;
    c10::DataPtr memory;
    std::int64_t size;
    int watch;
  };

  static void release(void* context) {
    const std::unique_ptr<Block> block(static_cast<Block*>(context));
    if (block->watch == block->counting->watch_) block->counting->bytes_ -= block->size;
  }

  c10::Allocator* below_ = nullptr;
  std::atomic<int> watch_ = 0;
  std::atomic<std::int64_t> bytes_ = 0, peak_ = 0;
};

Counting& counting() {
  static auto* const allocator = new Counting;
  return *allocator;
}

c10::DeviceAllocator* allocator_of(at::Device device) {
  return dynamic_cast<c10::DeviceAllocator*>(c10::GetAllocator(device.type()));
}

constexpr auto kTotal = 0;  // of the kinds of memory that an allocator counts, all together

}  // namespace

PeakMemory::PeakMemory(at::Device device) : device_(device) {
  if (device.is_cpu()) {
    counting().start();
  } else if (auto* allocator = allocator_of(device)) {
    allocator->resetPeakStats(device.index());
    before_ = allocator->getDeviceStats(device.index()).allocated_bytes[kTotal].current;
  }
}

PeakMemory::~PeakMemory() {
  if (device_.is_cpu()) counting().stop();
}

std::optional<std::int64_t> PeakMemory::extra_bytes() const {
  if (device_.is_cpu()) return counting().peak();
  auto* allocator = allocator_of(device_);
  if (allocator == nullptr) return {};
  return allocator->getDeviceStats(device_.index()).allocated_bytes[kTotal].peak - before_;
}

}  // namespace headwright::run

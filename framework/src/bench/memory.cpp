// Follows every allocation of the CPU allocator while a piece of work runs.
#include "bench/memory.h"

#include <c10/core/Allocator.h>
#include <c10/core/CachingDeviceAllocator.h>

#include <algorithm>
#include <mutex>
#include <unordered_map>

namespace headwright::bench {
namespace {

/// Stands before the allocator of the CPU, and notes the size behind each address. Memory may be given back after the
/// watch, or to another allocator than it came from: oneDNN asks for the current one each time. So every address is one
/// that the allocator below takes back, and the counting one is never destroyed.
class Counting final : public c10::Allocator {
 public:
  void start() {
    const std::lock_guard lock(mutex_);
    sizes_.clear();
    bytes_ = 0;
    peak_ = 0;
    below_ = c10::GetAllocator(c10::kCPU);
    if (below_->raw_deleter() != nullptr) c10::SetAllocator(c10::kCPU, this);
  }
  void stop() { c10::SetAllocator(c10::kCPU, below_); }
  std::int64_t peak() const {
    const std::lock_guard lock(mutex_);
    return peak_;
  }

  c10::DataPtr allocate(std::size_t size) override {
    auto memory = below_->allocate(size);
    const auto device = memory.device();
    void* data = memory.release_context();  // with a raw deleter, the address itself
    if (data == nullptr) return {nullptr, device};
    const std::lock_guard lock(mutex_);
    bytes_ += static_cast<std::int64_t>(size);
    peak_ = std::max(peak_, bytes_);
    sizes_[data] = static_cast<std::int64_t>(size);
    return {data, data, &release, device};
  }

  c10::DeleterFnPtr raw_deleter() const override { return &release; }

  void copy_data(void* to, const void* from, std::size_t count) const override { default_copy_data(to, from, count); }

 private:
  static void release(void* data);

  void give_back(void* data) {
    {
      const std::lock_guard lock(mutex_);
      if (const auto found = sizes_.find(data); found != sizes_.end()) {  // else it is from before the watch
        bytes_ -= found->second;
        sizes_.erase(found);
      }
    }
    below_->raw_deallocate(data);
  }

  mutable std::mutex mutex_;
  c10::Allocator* below_ = nullptr;
  std::int64_t bytes_ = 0, peak_ = 0;
  std::unordered_map<void*, std::int64_t> sizes_;  // of what the watch saw and still lives
};

Counting& counting() {
  static auto* const allocator = new Counting;
  return *allocator;
}

void Counting::release(void* data) { counting().give_back(data); }

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

}  // namespace headwright::bench

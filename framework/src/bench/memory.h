// The most memory that tensors take beyond what was there before.
#pragma once
#include <c10/core/Device.h>

#include <cstdint>
#include <optional>

namespace headwright::bench {

/// Watches while it lives; one at a time. On the CPU every allocation of a tensor passes through it, so the number is
/// exact and the same in every run; workspace that a library takes for itself is not seen. On another device its
/// allocator's own peak is read.
class PeakMemory {
 public:
  explicit PeakMemory(at::Device device);
  ~PeakMemory();
  PeakMemory(const PeakMemory&) = delete;
  PeakMemory& operator=(const PeakMemory&) = delete;

  /// Absent where the device's allocator keeps no count.
  std::optional<std::int64_t> extra_bytes() const;

 private:
  const at::Device device_;
  std::int64_t before_ = 0;
};

}  // namespace headwright::bench

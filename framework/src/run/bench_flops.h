// Floating-point operations of the matrix products that really run.
#pragma once
#include <ATen/record_function.h>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace headwright::run {

/// Counts while it lives, in every thread; one at a time.
///
/// Counted: products (mm, bmm, addmm, baddbmm, ...), a multiplication and an addition for each term; torch's fused
/// attention, two products forward and five backward, over the lower triangle alone where it is causal. What is done
/// element by element is not counted.
class FlopCounter {
 public:
  FlopCounter();
  ~FlopCounter();
  FlopCounter(const FlopCounter&) = delete;
  FlopCounter& operator=(const FlopCounter&) = delete;

  std::int64_t flops() const { return flops_; }

  /// Operators that ran and multiply in ways that are not counted: convolutions, Fourier transforms, fused recurrences.
  std::vector<std::string> uncounted() const;

 private:
  void see(const at::RecordFunction& call);

  std::atomic<std::int64_t> flops_ = 0;
  mutable std::mutex mutex_;
  std::set<std::string> uncounted_;
  at::CallbackHandle handle_ = at::INVALID_CALLBACK_HANDLE;
};

}  // namespace headwright::run

// The operators that really run: floating-point operations of their products, and bytes that they read and write.
#pragma once
#include <ATen/record_function.h>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace headwright::bench {

/// One operator that called no other. flops: of a product; bytes: of the tensors that it takes and gives, none of a
/// view.
struct Operation {
  std::int64_t flops = 0, bytes = 0;
};

/// Counts while it lives, in every thread; one at a time.
///
/// Counted in flops: products (mm, bmm, addmm, baddbmm, ...), a multiplication and an addition for each term; torch's
/// fused attention, two products forward and five backward, over the lower triangle alone where it is causal. What is
/// done element by element is not counted.
class FlopCounter {
 public:
  FlopCounter();
  ~FlopCounter();
  FlopCounter(const FlopCounter&) = delete;
  FlopCounter& operator=(const FlopCounter&) = delete;

  std::int64_t flops() const { return flops_; }
  std::vector<Operation> operations() const;

  /// Operators that ran and multiply in ways that are not counted: convolutions, Fourier transforms, fused recurrences.
  std::vector<std::string> uncounted() const;

 private:
  struct Running;

  std::int64_t flops_of(const at::RecordFunction& call);
  void finished(const at::RecordFunction& call, const Running& running);

  std::atomic<std::int64_t> flops_ = 0;
  std::vector<Operation> operations_;
  mutable std::mutex mutex_;
  std::set<std::string> uncounted_;
  at::CallbackHandle handle_ = at::INVALID_CALLBACK_HANDLE;
};

}  // namespace headwright::bench

// How long a piece of work takes, forward and backward, and what it needs.
#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bench/flops.h"

namespace headwright::bench {

/// Of several measurements, in seconds.
struct Spread {
  double median = 0, min = 0, max = 0;
};

/// samples: at least one.
double median_of(std::vector<double> samples);
Spread spread_of(const std::vector<double>& samples);

/// A computation that can be repeated, and the tensors to which backward brings gradients.
struct Work {
  std::function<at::Tensor()> forward;
  std::vector<at::Tensor> leaves;
};

/// One pass, in seconds. Forward keeps no graph; backward is the time of the gradients alone.
double time_forward(const Work& work);
double time_backward(const Work& work);

/// True where gradients reach any leaf.
bool has_backward(const Work& work);

/// What one pass needs besides time. Backward: the operations of the gradients alone; memory from the forward pass on.
struct Needs {
  std::int64_t flops = 0;
  std::vector<Operation> operations;
  std::vector<std::string> uncounted;
  std::optional<std::int64_t> peak_extra_bytes;
};
Needs needs_of_forward(const Work& work);
Needs needs_of_backward(const Work& work);

}  // namespace headwright::bench

// Two sets of tensors, name by name.
#pragma once
#include <string>
#include <vector>

#include "tensor_io/tensor_io.h"

namespace headwright::run {

struct TensorComparison {
  std::string name, detail;  // detail: why the two cannot be compared; empty = they were
  double max_abs_error = 0;  // infinite where they cannot be compared, or where one is not finite and the other is
  double max_rel_error = 0;  // |a - b| / max(|a|, |b|)
};

struct Comparison {
  std::vector<TensorComparison> tensors;
  double max_abs_error = 0, max_rel_error = 0;
};

/// Tensors that stand on one side alone, or differ in shape, count as infinitely far apart. NaN equals NaN.
Comparison compare(const tensor_io::Named& a, const tensor_io::Named& b);

}  // namespace headwright::run

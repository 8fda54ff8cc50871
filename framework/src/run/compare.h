// Two sets of tensors, name by name.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "tensor_io/tensor_io.h"

namespace headwright::run {

struct TensorComparison {
  std::string name, detail;  // detail: why the two cannot be compared; empty = they were
  double max_abs_error = 0;  // infinite where they cannot be compared, or where one is not finite and the other is
  double max_rel_error = 0;  // |a - b| / max(|a|, |b|)
  std::int64_t values = 0;   // of one side
  std::int64_t nan = 0;      // values that are NaN on both sides: neither equal nor different
  std::int64_t one_sided_nan = 0;  // on one side alone, which is a difference
};

struct Comparison {
  std::vector<TensorComparison> tensors;
  double max_abs_error = 0, max_rel_error = 0;
  std::int64_t values = 0, nan = 0, one_sided_nan = 0;
};

/// Exact for integers of up to 64 bits, also beside floats. Tensors that stand on one side alone, or differ in shape,
/// count as infinitely far apart.
Comparison compare(const tensor_io::Named& a, const tensor_io::Named& b);

/// The same of two files; tensors whose dtype is not read cannot be compared.
Comparison compare_files(const tensor_io::Safetensors& a, const tensor_io::Safetensors& b);

}  // namespace headwright::run

// What the machine can do, and what a list of operators would take on it.
// Source: Williams et al. 2009, "Roofline": a step takes as long as its operations or its bytes, whichever is longer.
#pragma once
#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

#include <cstdint>
#include <vector>

#include "bench/turns.h"

namespace headwright::bench {

struct Machine {
  double flops_per_second = 0;                                 // of a product of two large square matrices
  std::int64_t gemm_size = 0;                                  // of these
  double near_bytes_per_second = 0, far_bytes_per_second = 0;  // read and written by a copy within caches, and beyond
  double seconds_per_operation = 0;                            // of one element
};

/// The works that measure a machine. They take their turns beside what is benched.
struct MachineWorks {
  Work product, near_copy, far_copy, small;
  std::int64_t gemm_size = 0;
};
MachineWorks machine_works(at::ScalarType dtype, at::Device device);

struct MachineTurns {
  std::size_t product = 0, near_copy = 0, far_copy = 0, small = 0;
  std::int64_t gemm_size = 0;
};
MachineTurns enter(Turns& turns, const MachineWorks& works);
Machine machine_of(const Turns& turns, const MachineTurns& machine);

/// Seconds, if each operator takes what its flops or its bytes take, and the time that the smallest one takes.
double predicted_seconds(const std::vector<Operation>& operations, const Machine& machine);

}  // namespace headwright::bench

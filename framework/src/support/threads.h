// How many threads compute, who says so, and whether the system gives them.
#pragma once
#include <cstdint>
#include <string>

namespace headwright::support {

struct ThreadCount {
  std::int64_t count = 1;
  std::string from;  // "OMP_NUM_THREADS"
};

/// What the environment says: OMP_NUM_THREADS, else MKL_NUM_THREADS, else one for each usable processor; no more than
/// OMP_THREAD_LIMIT. A value that is no number counts as absent, as it does for the libraries.
ThreadCount usual_threads();

/// Why this process cannot have `count` threads, and how many it may have; empty = it can. Asks the system by starting
/// them, since OpenMP ends the process where it gets fewer.
std::string why_not_threads(std::int64_t count);

}  // namespace headwright::support

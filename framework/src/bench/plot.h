// A benchmark as a picture: cost against length.
#pragma once
#include <string>

#include "bench/bench.h"

namespace headwright::bench {

/// An SVG of the median times against the length, both axes logarithmic; a line for each config and pass, and for both
/// sides of a baseline. Throws InputError where there are fewer than two lengths.
std::string bench_svg(const Bench& bench);

}  // namespace headwright::bench

// A benchmark as a picture: cost against length.
#pragma once
#include <string>

#include "run/bench.h"

namespace headwright::run {

/// An SVG of the median times against the length, both axes logarithmic; a line for each config and pass, and for both
/// sides of a baseline. Throws InputError where there are fewer than two lengths.
std::string bench_svg(const Bench& bench);

}  // namespace headwright::run

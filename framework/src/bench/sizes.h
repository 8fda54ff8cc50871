// The points that a benchmark visits, and the input at each.
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "bench/bench.h"
#include "bind/plan.h"

namespace headwright::bench {

/// One value for each axis.
using BenchPoint = std::vector<std::pair<std::string, std::string>>;

/// Every combination, the last axis fastest. Throws InputError: an axis twice, too many.
std::vector<BenchPoint> combinations(const std::vector<BenchAxis>& axes);

/// True of the axes that are sizes of the input; the others are paths of config values.
bool is_size(const std::string& axis);

/// A size of at least 1. Throws InputError beginning with `where`.
std::int64_t size_from(const std::string& text, const std::string& where);

/// Gives the plan a seeded random input of the point's sizes; what the point does not name stays as it is.
/// A key mask belongs to the config's own sizes and goes with them.
void take_sizes(bind::Plan& plan, const BenchPoint& point);

/// The values of the config that the point changes, as for --set.
std::vector<std::string> overrides_of(const BenchPoint& point);

/// The config with these values. Where something varies and the config's own input does not fit, it is replaced by
/// random tensors of its lengths.
run::Session open_at(run::Request request, const BenchPoint& point);

}  // namespace headwright::bench

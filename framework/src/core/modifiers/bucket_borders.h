// Where the classes of T5's relative bias begin.
#pragma once
#include <cstdint>
#include <vector>

namespace headwright::core {

/// Distances are classed in n_classes: each below n_exact in its own, the others in n_far = n_classes - n_exact that
/// grow logarithmically to max_distance. Returns the distance at which each far class but the first begins: the least r
/// with n_far ln(r / n_exact) / ln(max_distance / n_exact) >= 1, 2, ..., n_far - 1, in whole numbers, so that a
/// distance at a border is never put on the wrong side by rounding.
std::vector<std::int64_t> far_borders(std::int64_t n_exact, std::int64_t n_far, std::int64_t max_distance);

}  // namespace headwright::core

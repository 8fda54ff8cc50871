// One token changed, and where that shows.
#pragma once
#include "check/subject.h"

namespace headwright::check {

inline constexpr double kFloat64Noise = 1e-9;  // sums of a few hundred float64 terms of size 1, with room

/// The first position among [begin, end) whose output differs, in any row; -1 = none.
std::int64_t first_difference(const at::Tensor& a, const at::Tensor& b, std::int64_t begin, std::int64_t end);

/// Another token there in every row.
Inputs with_other_token(const Inputs& inputs, std::int64_t token);

}  // namespace headwright::check

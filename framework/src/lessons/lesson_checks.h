// What a lesson can claim about tensors. Each gives a check with the figures behind it, passed or not.
#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "lessons/lesson.h"

namespace headwright::lessons {

/// "0.9544 1.4950", at most the first `most` elements.
std::string figures(const at::Tensor& tensor, std::int64_t most = 12);

/// A number with four digits after the point, or in scientific form where that would be zero.
std::string figure(double number);

/// Largest absolute difference; infinite where shapes differ.
double difference(const at::Tensor& a, const at::Tensor& b);

/// What rounding may change in a result of this dtype.
double rounding(const at::Tensor& tensor);

LessonCheck check_shape(std::string name, const at::Tensor& tensor, const std::vector<std::int64_t>& expected);
LessonCheck check_figures(std::string name, const at::Tensor& tensor,
                          const std::vector<double>& expected);  // 4 decimals
LessonCheck check_same_bits(std::string name, const at::Tensor& a, const at::Tensor& b);
LessonCheck check_close(std::string name, const at::Tensor& a, const at::Tensor& b);    // but for rounding
LessonCheck check_differs(std::string name, const at::Tensor& a, const at::Tensor& b);  // by more than rounding
LessonCheck check_rows_sum_to_one(std::string name, const at::Tensor& weights);
LessonCheck check_no_weight_on_the_future(std::string name, const at::Tensor& weights);  // zero above the diagonal
LessonCheck check_elements_among(std::string name, const at::Tensor& tensor, const std::vector<double>& allowed);

/// Passes if `attempt` throws; the first line of what it says is the detail.
LessonCheck check_refused(std::string name, const std::function<void()>& attempt);

}  // namespace headwright::lessons

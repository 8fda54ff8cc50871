// Finite numbers that become infinite in the dtype of a model.
#pragma once
#include <ATen/core/Tensor.h>

#include <string>

#include "bind/plan.h"

namespace headwright::run {

/// Throws ConfigError naming the first value of each tensor in the config's input that run.dtype does not hold.
void expect_values_fit(const bind::Plan& plan);

/// The same for a tensor of a file; `where` begins the message. Throws InputError.
void expect_fits(const at::Tensor& tensor, at::ScalarType dtype, const std::string& where);

}  // namespace headwright::run

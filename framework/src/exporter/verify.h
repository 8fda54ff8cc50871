// Runs what is exported at sizes it was not traced with, beside the model it came from.
#pragma once
#include <vector>

#include "exporter/exporter.h"
#include "exporter/script.h"

namespace headwright::exporter {

/// One row per size, with every choice of what may be left out together. Throws Error naming the component that differs
/// by more than its dtype explains.
std::vector<Check> verify(const Script& script, model::Model& model, const bind::Plan& plan,
                          const std::vector<Size>& sizes);

/// Throws Error unless `loaded`, read back from what was written, gives the same as script.module.
void verify_file(const torch::jit::Module& loaded, const Script& script, const bind::Plan& plan, const Size& size);

/// The largest difference; equal where both are the same infinity or both NaN, infinite where only one is.
double max_abs_error(const at::Tensor& got, const at::Tensor& expected);

}  // namespace headwright::exporter

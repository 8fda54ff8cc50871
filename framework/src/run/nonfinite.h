// Where a result stopped being finite.
#pragma once
#include "run/forward.h"

namespace headwright::run {

/// Counts; `first` stays empty.
NonFinite nonfinite_in(const at::Tensor& y);

/// Runs the modules of the model one by one, as the model does, and names the first whose output is not finite though
/// what went in was: "embedding", "blocks.3", "encoder.final_norm", "head"; "the input" where it was not finite itself.
std::string first_layer_with_nonfinite(model::Model& model, const Inputs& inputs);

}  // namespace headwright::run

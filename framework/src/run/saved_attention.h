// Attention weights of a forward pass, whichever kernels it runs on.
#pragma once
#include <string>
#include <vector>

#include "headwright/attention.h"
#include "model/model.h"
#include "tensor_io/tensor_io.h"

namespace headwright::run {

/// What is wanted of all weights; an empty list = all. Rows in ascending order, each once.
struct WeightRequest {
  std::vector<std::string> layers;  // a module path, "blocks.3.attention", or an index, "3"
  WeightChoice rows;                // heads and queries
};

/// Makes `recorder` take the weights of the layers that are asked for, in a pass over `inputs`. Throws InputError for a
/// layer, a head or a query that is not there.
void want_weights(Recorder& recorder, const model::Model& model, const Inputs& inputs, const WeightRequest& request);

/// What was recorded: "blocks.0.attention" -> (batch, heads, queries, keys).
/// Throws InputError where a layer that is asked for has no weights, or fewer heads or queries than asked for.
tensor_io::Named recorded_weights(const Recorder& recorder, const model::Model& model, const WeightRequest& request);

}  // namespace headwright::run

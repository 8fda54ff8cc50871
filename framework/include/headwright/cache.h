// What a layer keeps between calls, so that a sequence can go on token by token.
#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headwright/errors.h"

namespace headwright {

/// Named tensors and how many tokens they stand for. The form is the layer's own: keys and values, a latent, a state.
/// It is for inference: call the layer under at::NoGradGuard, else each step keeps the graph of all before it. A layer
/// may write into the tensors or replace them, so a copy of a Cache does not go on on its own; clone its tensors.
struct HEADWRIGHT_API Cache {
  std::vector<std::pair<std::string, at::Tensor>> tensors;
  at::Tensor length;  // () int64, on the CPU: an int would be written into an export as a constant

  /// Throws Error where the cache has no such tensor.
  at::Tensor& at(std::string_view name);

  std::int64_t tokens() const;  // the length as a number
};

/// Writes `rows` into the tensor `name` behind the tokens that are there, along dimension `dim`, and returns all of
/// them, in the tensor's own dtype. The length is raised by the layer afterwards, once. Throws ShapeError where the
/// capacity does not suffice.
HEADWRIGHT_API at::Tensor extend(Cache& cache, std::string_view name, const at::Tensor& rows, std::int64_t dim);

/// The same for a tensor that keeps no more than the last tokens, as many as its extent along `dim`: returns what it
/// held and `rows` behind it. There is no capacity to run out of.
HEADWRIGHT_API at::Tensor slide(Cache& cache, std::string_view name, const at::Tensor& rows, std::int64_t dim);

}  // namespace headwright

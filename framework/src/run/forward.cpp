// Runs a model without gradients, and notes what was asked for.
#include "run/forward.h"

#include <ATen/core/grad_mode.h>

#include <chrono>

#include "model/build.h"
#include "run/nonfinite.h"
#include "support/log.h"

namespace headwright::run {

Forward forward(model::Model& model, const Inputs& inputs) {
  const at::NoGradGuard no_grad;
  model.eval();
  const auto start = std::chrono::steady_clock::now();
  auto y = model.forward(inputs);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  auto nonfinite = nonfinite_in(y);
  if (nonfinite.nan + nonfinite.inf > 0) nonfinite.first = first_layer_with_nonfinite(model, inputs);
  return {std::move(y), seconds.count(), model::kernels_of(model), std::move(nonfinite)};
}

void warn_of_nonfinite(const std::string& name, const Forward& result) {
  const auto& [nan, inf, first] = result.nonfinite;
  if (nan + inf == 0) return;
  support::log::warn(name + ": " + std::to_string(nan) + " NaN and " + std::to_string(inf) + " infinite of " +
                     std::to_string(result.y.numel()) + " values of the result; the first came from " + first);
}

}  // namespace headwright::run

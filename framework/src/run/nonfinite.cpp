// Goes through the model once more, and stops at the first module whose output is not finite.
#include "run/nonfinite.h"

#include <ATen/ATen.h>

namespace headwright::run {
namespace {

bool is_finite(const at::Tensor& x) { return !x.defined() || x.isfinite().all().item<bool>(); }

/// The first module of the stack whose output is not finite; empty = none. x: what goes in, and what came out after it.
std::string first_in(model::Stack& stack, const Inputs& given, const std::string& prefix, at::Tensor& x) {
  auto inputs = given;
  if (stack.positions && !inputs.positions.defined()) inputs.positions = stack.positions->forward(inputs);
  x = inputs.x;
  if (!is_finite(x)) return "the input";
  if (stack.embedding) {
    x = stack.embedding->forward(inputs.with(x, "embedding"));
    if (!is_finite(x)) return prefix + "embedding";
  }
  for (std::size_t i = 0; i < stack.blocks.size(); ++i) {
    const auto path = "blocks." + std::to_string(i);
    x = stack.blocks[i]->forward(inputs.with(x, path));
    if (!is_finite(x)) return prefix + path;
  }
  if (!stack.final_norm) return "";
  x = stack.final_norm->forward(x);
  return is_finite(x) ? "" : prefix + "final_norm";
}

}  // namespace

NonFinite nonfinite_in(const at::Tensor& y) {
  if (is_finite(y)) return {};
  return {.nan = y.isnan().sum().item<std::int64_t>(), .inf = y.isinf().sum().item<std::int64_t>(), .first = ""};
}

std::string first_layer_with_nonfinite(model::Model& model, const Inputs& inputs) {
  const at::NoGradGuard no_grad;
  auto all = inputs;
  all.recorder = nullptr;  // what was recorded stays that of the first pass
  at::Tensor x;
  if (model.encoder) {
    const Inputs own{.x = inputs.memory, .key_mask = inputs.memory_mask};
    if (auto path = first_in(*model.encoder, own, "encoder.", x); !path.empty()) {
      return path == "the input" ? "the memory" : path;
    }
    all.memory = x;
  } else if (!is_finite(inputs.memory)) {
    return "the memory";
  }
  if (auto path = first_in(model, all, "", x); !path.empty()) return path;
  return model.head ? "head" : "no single layer";
}

}  // namespace headwright::run

// A model as a scripted module tree: the same names, the same parameters (not copies), a forward for each component.
#pragma once
#include <torch/csrc/jit/api/module.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "exporter/samples.h"
#include "exporter/signature.h"
#include "model/model.h"

namespace headwright::exporter {

/// A component of the tree together with what it must equal.
struct Part {
  std::string path, variant;  // "blocks.0.attention", "softmax"
  const torch::nn::Module* module = nullptr;
  std::function<at::Tensor(const Inputs&)> eager;
  Signature signature;
  std::int64_t width = 0;              // of its x, where that is features
  std::optional<bind::Wanted> wanted;  // what its x is, where that is what came into the model
  bool dynamic = true;                 // takes any batch size and length
  bool in_encoder = false;             // its sequence is the memory of the model
  torch::jit::Module scripted;

  /// Inputs of its own where the model gets inputs of that size.
  Inputs sample(Samples& samples, const Size& size) const;
};

struct Script {
  torch::jit::Module module;
  Signature signature;
  std::vector<Part> parts;
};

/// Traces each component at `size`, which is also the only one that a component without dynamic_export takes.
/// The model is in eval mode, on the CPU, and gradients are off. Throws Error naming the component.
Script make_script(model::Model& model, const bind::Plan& plan, const Size& size);

/// Whether every component claims dynamic_export.
bool is_dynamic(const bind::ModelPlan& plan);

}  // namespace headwright::exporter

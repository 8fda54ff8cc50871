// What an exported forward takes, and the TorchScript text that goes with it.
//
//   forward(x)                                                       self-attention that honours no mask
//   forward(x, key_mask: Optional[Tensor] = None)                    self-attention that does
//   forward(x, context, context_mask: Optional[Tensor] = None)       cross-attention
//   forward(x, context, key_mask = None, context_mask = None)        a model that has both
#pragma once
#include <string>
#include <vector>

#include "bind/plan.h"
#include "headwright/attention.h"

namespace headwright::exporter {

struct Signature {
  bool context = false, key_mask = false, context_mask = false;

  bool masked() const { return key_mask || context_mask; }
  std::vector<std::string> names() const;             // x first
  std::string declaration() const;                    // "def forward(self, x, key_mask: Optional[Tensor] = None):\n"
  std::string arguments(const std::string& x) const;  // "x, key_mask", with another text for x

  std::vector<at::Tensor> values(const Inputs& inputs) const;
  Inputs inputs(const std::vector<at::Tensor>& values) const;  // values may lack the masks at the end
  Signature without_masks() const { return {.context = context}; }
};

/// An attention layer's own, by its claims.
Signature signature_of(const Claims& claims);

/// The whole model's: it has masks only where every attention honours one.
Signature signature_of(const bind::ModelPlan& plan);

}  // namespace headwright::exporter

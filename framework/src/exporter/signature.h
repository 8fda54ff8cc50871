// What an exported forward takes, and the TorchScript text that goes with it.
//
//   forward(x)                                                       self-attention that honours no mask
//   forward(x, key_mask: Optional[Tensor] = None)                    self-attention that does
//   forward(x, memory, memory_mask: Optional[Tensor] = None)       cross-attention
//   forward(x, memory, key_mask = None, memory_mask = None)        a model that has both
// A last `document_ids: Optional[Tensor] = None` follows where something reads them.
#pragma once
#include <string>
#include <vector>

#include "bind/plan.h"
#include "headwright/attention.h"

namespace headwright::exporter {

struct Signature {
  bool memory = false;                                               // always given
  bool key_mask = false, memory_mask = false, document_ids = false;  // may be left out

  std::vector<std::string> names() const;             // x first
  std::vector<std::string> optional_names() const;    // those that may be left out
  std::string declaration() const;                    // "def forward(self, x, key_mask: Optional[Tensor] = None):\n"
  std::string arguments(const std::string& x) const;  // "x, key_mask", with another text for x
  std::string named_arguments(const std::string& x) const;  // "x, key_mask=key_mask": of what takes more than this

  std::vector<at::Tensor> values(const Inputs& inputs) const;  // undefined where inputs have none
  Inputs inputs(const std::vector<at::Tensor>& values) const;  // in the order of names()

  /// Every way to call it: all that may be left out, each part of it, nothing; the fullest first.
  std::vector<Signature> choices() const;
  Signature without_optional() const { return {.memory = memory}; }
  Signature both(const Signature& other) const;    // what one of them takes
  Signature within(const Signature& other) const;  // what both take; the memory as here
};

/// An attention layer's own, by its claims.
Signature signature_of(const Claims& claims);

/// A block's: what its attentions take.
Signature signature_of(const bind::BlockPlan& plan);

/// The whole model's: it has a mask only where every attention that it would reach honours one.
Signature signature_of(const bind::ModelPlan& plan);

}  // namespace headwright::exporter

// What an exported forward takes, and the TorchScript text that goes with it.
//
//   forward(x)                                                       self-attention that honours no mask
//   forward(x, key_mask: Optional[Tensor] = None)                    self-attention that does
//   forward(x, memory, memory_mask: Optional[Tensor] = None)         cross-attention
//   forward(x, memory, key_mask = None, memory_mask = None)          a model that has both
// `document_ids`, `positions` and `token_types`, all Optional[Tensor] = None, follow where something reads them.
#pragma once
#include <string>
#include <vector>

#include "bind/plan.h"
#include "headwright/attention.h"

namespace headwright::exporter {

struct Signature {
  bool x = true;                                                     // learned latents take none
  bool memory = false;                                               // always given
  bool key_mask = false, memory_mask = false, document_ids = false;  // may be left out: each way is a trace of its own
  bool positions = false, token_types = false;                       // may be left out: a default stands for them

  std::vector<std::string> names() const;           // those that are always given first
  std::vector<std::string> optional_names() const;  // those that may be left out
  std::vector<std::string> mask_names() const;      // those of them that have no default
  std::string declaration() const;                  // "def forward(self, x, key_mask: Optional[Tensor] = None):\n"
  std::string defaults() const;                     // statements that fill in what has a default and was left out

  /// "x, key_mask=key_mask", with another text for x: of what takes this or more.
  std::string arguments(const std::string& x = "x") const;

  std::vector<at::Tensor> values(const Inputs& inputs) const;  // undefined where inputs have none
  Inputs inputs(const std::vector<at::Tensor>& values) const;  // in the order of names()

  /// Every choice of masks that may be left out: all, each part of them, none; the fullest first. What has a default
  /// is as here.
  std::vector<Signature> choices() const;
  Signature required() const { return {.x = x, .memory = memory}; }
  Signature without_defaults() const;              // nothing that has a default
  std::vector<Signature> calls() const;            // every choice without what has a default, and the fullest with it
  Signature both(const Signature& other) const;    // what one of them takes
  Signature within(const Signature& other) const;  // what both take; x and the memory as here
};

/// A component's own, by its claims. norms and feed-forward layers: forward(x).
Signature signature_of(Kind kind, const Claims& claims);

/// A block's: what its attentions take.
Signature signature_of(const bind::BlockPlan& plan);

/// The whole model's: it has a mask only where every attention that it would reach honours one.
Signature signature_of(const bind::ModelPlan& plan);

}  // namespace headwright::exporter

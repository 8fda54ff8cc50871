// The attention kind: inputs -> y.
//
// Shapes are in words at the end of the line that makes them:
//   batch, seq, context_len, d_model, n_heads, n_kv_heads, d_head
#pragma once
#include <torch/nn/module.h>
#include <torch/nn/modules/linear.h>

#include <memory>
#include <string>
#include <string_view>

#include "headwright/attend.h"
#include "headwright/position.h"
#include "headwright/recorder.h"
#include "headwright/variant.h"

namespace headwright {

/// All that a layer may be given. Undefined tensors are absent. New members go at the end.
struct Inputs {
  at::Tensor x;             // (batch, seq, d_model)
  at::Tensor context;       // (batch, context_len, d_context): keys and values of cross-attention
  at::Tensor key_mask;      // (batch, seq) bool, true = visible
  at::Tensor context_mask;  // (batch, context_len) bool, true = visible
  at::Tensor positions;     // (seq) or (batch, seq) int64; absent = 0, 1, 2, ...
  Recorder* recorder = nullptr;
  std::string path;  // of the module that is called, for its notes

  /// The same inputs for a child module, with another x.
  Inputs with(at::Tensor new_x, std::string_view child) const;
};

/// Notes an intermediate tensor if a recorder is attached and wants it; costs nothing otherwise.
/// make: () -> Tensor, called only when the note is wanted.
template <class Make>
void note(const Inputs& inputs, std::string_view name, std::string_view meaning, Make&& make) {
  if (inputs.recorder != nullptr && inputs.recorder->wants(name)) {
    inputs.recorder->add(inputs.path, name, meaning, make());
  }
}

/// Base of every attention variant.
class HEADWRIGHT_API Attention : public torch::nn::Module {
 public:
  ~Attention() override;

  /// Returns (batch, seq, d_out).
  virtual at::Tensor forward(const Inputs& inputs) = 0;

  /// Which kernel computes this layer, and why. Variants outside the core compute their own scores.
  virtual KernelChoice kernel() const;

  /// TorchScript text of `forward` for a variant whose forward cannot be traced (a loop over time); empty = trace it.
  virtual std::string torchscript() const;
};

/// Options that every variant on queries, keys and values shares.
struct QkvOptions {
  bool qkv_bias = false;
  bool out_bias = true;
  bool cross = false;  // keys and values come from inputs.context
  Component position;  // rotates q and k
};

/// Owns the projections, the head split and merge, and the rotation; a variant supplies mix().
class HEADWRIGHT_API QkvAttention : public Attention {
 public:
  ~QkvAttention() override;
  at::Tensor forward(const Inputs& inputs) final;

  /// Complains where heads and widths do not fit together.
  static void check_heads(const Dims& dims, Complaints& complaints);

 protected:
  QkvAttention(const Dims& dims, const QkvOptions& options);

  /// q: (batch, n_heads, seq, d_head); k, v: (batch, n_kv_heads, keys, d_head). Returns (batch, n_heads, seq, d_head).
  virtual at::Tensor mix(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const Inputs& inputs) = 0;

  /// The key mask, the alignment and the kernel that `inputs` and the config ask for; a variant adds the rest.
  Scoring scoring(const Inputs& inputs) const;

  const Dims dims_;

 private:
  const bool cross_;
  torch::nn::Linear q_proj_{nullptr}, k_proj_{nullptr}, v_proj_{nullptr}, out_proj_{nullptr};
  std::shared_ptr<Position> position_;
};

}  // namespace headwright

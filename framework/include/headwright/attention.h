// The attention kind: inputs -> y.
//
// Shapes are in words at the end of the line that makes them:
//   batch, seq, memory_len, d_model, n_heads, n_kv_heads, d_head
#pragma once
#include <torch/nn/module.h>
#include <torch/nn/modules/linear.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headwright/attend.h"
#include "headwright/cache.h"
#include "headwright/position.h"
#include "headwright/recorder.h"
#include "headwright/variant.h"

namespace headwright {

/// All that a layer may be given. Undefined tensors are absent. New members go at the end.
struct Inputs {
  at::Tensor x;            // (batch, seq, d_model)
  at::Tensor memory;       // (batch, memory_len, d_memory): keys and values of cross-attention
  at::Tensor key_mask;     // (batch, seq) bool, true = visible; with a cache, of all tokens so far
  at::Tensor memory_mask;  // (batch, memory_len) bool, true = visible
  at::Tensor positions;    // (seq) or (batch, seq) int64; absent = 0, 1, 2, ...
  Recorder* recorder = nullptr;
  std::string path;         // of the module that is called, for its notes
  at::Tensor document_ids;  // (batch, seq) int64: tokens of one document share a number; with a cache, of all tokens
  Cache* cache = nullptr;   // of the layer that is called: what came before x; forward appends x to it
  at::Tensor token_types;   // (batch, seq) int64: for embeddings that tell kinds of tokens apart; absent = all 0

  /// The same inputs for a child module, with another x.
  Inputs with(at::Tensor new_x, std::string_view child) const;
};

/// Notes an intermediate tensor if a recorder is attached and wants it; costs nothing otherwise.
/// make: () -> Tensor, called only when the note is wanted.
template <class Make>
void note(const Inputs& inputs, std::string_view name, std::string_view meaning, Make&& make) {
  if (inputs.recorder != nullptr && inputs.recorder->wants(inputs.path, name)) {
    inputs.recorder->add(inputs.path, name, meaning, make());
  }
}

/// Notes the weights that attend() applies, all or the part that the recorder asks for.
/// lse: as attend() gave it; undefined = computed.
HEADWRIGHT_API void note_weights(const Inputs& inputs, const at::Tensor& q, const at::Tensor& k, const Scoring& scoring,
                                 const at::Tensor& lse = {});

/// attend() for a layer: hands what was asked to the recorder, notes the weights, and returns what attend() does.
HEADWRIGHT_API Attended attend(const Inputs& inputs, const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                               const Scoring& scoring);

/// Where the tokens of x stand: as given, or counted from 0, or on from what the cache holds. (seq) or (batch, seq).
HEADWRIGHT_API at::Tensor positions_of(const Inputs& inputs);

/// The part of the key mask that is of x: (batch, seq); undefined = all visible. With a cache, the mask covers all
/// tokens so far: throws ShapeError "[op] key_mask: ..." where it does not.
HEADWRIGHT_API at::Tensor key_mask_of_x(std::string_view op, const Inputs& inputs);

/// What the run asks of a layer's scores: key mask, documents, alignment and kernel. cross: keys are of the memory.
HEADWRIGHT_API Scoring scoring_of_run(const Inputs& inputs, const Dims& dims, bool cross);

/// A text for torchscript() with its placeholders filled in: each name, such as "$d_head", by its value. A name that
/// begins another one stands behind it.
HEADWRIGHT_API std::string filled_in(std::string text, const std::vector<std::pair<std::string, std::string>>& values);

/// Base of every attention variant.
class HEADWRIGHT_API Attention : public torch::nn::Module {
 public:
  ~Attention() override;

  /// Returns (batch, seq, d_out).
  virtual at::Tensor forward(const Inputs& inputs) = 0;

  /// Which kernel computes this layer, and why. Variants outside the core compute their own scores.
  virtual KernelChoice kernel() const;

  /// Which keys a token sees by its parameters; every key unless it says otherwise. That a variant is causal whatever
  /// its parameters stands in its claims.
  virtual Mask mask() const;

  /// Claim `cache`: an empty cache for `batch` sequences of up to `capacity` tokens, in the dtype and on the device of
  /// the parameters. The first dimension of each tensor is the batch.
  virtual Cache make_cache(std::int64_t batch, std::int64_t capacity) const;

  /// TorchScript text of `forward` for a variant whose forward cannot be traced (a loop over time); empty = trace it.
  virtual std::string torchscript() const;
};

/// Options that every variant on queries, keys and values shares.
struct QkvOptions {
  bool qkv_bias = false;
  bool out_bias = true;
  bool cross = false;  // keys and values come from inputs.memory
  Component position;  // rotates q and k, or changes the scores
  std::string qk_norm = "none";
  double qk_norm_eps = 1e-6;
};

/// The rows that every variant on queries, keys and values offers, to be joined with its own by std::tuple_cat.
constexpr auto qkv_fields() {
  return std::tuple{
      field("qkv_bias", &QkvOptions::qkv_bias, "if the projections of q, k and v add a bias"),
      field("out_bias", &QkvOptions::out_bias, "if the output projection adds a bias"),
      field("cross", &QkvOptions::cross, "if keys and values come from the memory"),
      field("position", &QkvOptions::position, "rotates q and k, or changes the scores", component_of(Kind::position)),
      field("qk_norm", &QkvOptions::qk_norm,
            "norm of each head's q and k: rms with a learned factor per channel, or l2 with a learned scale per head",
            one_of("none", "rms", "l2")),
      field("qk_norm_eps", &QkvOptions::qk_norm_eps,
            "added to the mean square of q and k under rms, to their sum of squares under l2", positive()),
  };
}

/// Options of a variant that makes weights of the scores of q and k. A variant offers those of the rows that it
/// honours; what it does not offer keeps its default.
struct ScoreOptions : QkvOptions {
  Mask mask;
  std::vector<ScoreModifier> modifiers;
  std::string bias_order = "first";
  std::optional<double> scale;
  double dropout = 0;
};

inline constexpr auto kMaskRow = field("mask", &ScoreOptions::mask, "which keys a query sees");
inline constexpr auto kModifiersRow =
    field("modifiers", &ScoreOptions::modifiers, "changes to the scores before the mask, in their order");
inline constexpr auto kBiasOrderRow =
    field("bias_order", &ScoreOptions::bias_order, "the position's bias is added before the modifiers or after them",
          one_of("first", "last"));
inline constexpr auto kScaleRow =
    field("scale", &ScoreOptions::scale, "factor on q . k; absent = 1 / sqrt(d_head)", positive());
inline constexpr auto kDropoutRow =
    field("dropout", &ScoreOptions::dropout, "probability of dropping a weight in training", probability());

/// Owns the projections, the head split and merge, and the rotation; a variant supplies mix().
class HEADWRIGHT_API QkvAttention : public Attention {
 public:
  ~QkvAttention() override;
  at::Tensor forward(const Inputs& inputs) final;

  /// Keys and values of up to `capacity` tokens, of fewer where mask() looks back over fewer. A variant that keeps more
  /// adds its tensors to it.
  Cache make_cache(std::int64_t batch, std::int64_t capacity) const override;

  /// Reports where heads and widths do not fit together.
  static void check_heads(const Dims& dims, Issues& issues);

  /// Reports a position that is none for q, k or scores, and about options that have no effect.
  static void check_options(const Dims& dims, const QkvOptions& options, Issues& issues);

  /// The same for options of scores, and reports where a mask or a scale has no place beside another option.
  static void check_scores(const Dims& dims, const ScoreOptions& options, Issues& issues);

  /// What follows from these options for a variant on the attention core, at a cost of O(seq^2 d_model).
  static Claims score_claims(const Dims& dims, const ScoreOptions& options);

 protected:
  QkvAttention(const Dims& dims, const QkvOptions& options);

  /// q: (batch, n_heads, seq, d_head); k, v: (batch, n_kv_heads, keys, d_head). Returns (batch, n_heads, seq, d_head).
  /// With a cache, `keys` are those that the layer keeps and those of x; its length is raised after this call, so
  /// extend(), positions_of() and key_mask_of_x() mean what they mean in any layer.
  virtual at::Tensor mix(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const Inputs& inputs) = 0;

  /// The key mask, the documents, the alignment, the position's bias and the kernel that `inputs` and the config ask
  /// for; a variant adds the rest.
  Scoring scoring(const Inputs& inputs) const;

  /// The same with the options' mask, modifiers, scale, and dropout in training.
  Scoring scoring(const Inputs& inputs, const ScoreOptions& options) const;

  const Dims dims_;

 private:
  void check_inputs(const Inputs& inputs) const;
  std::pair<at::Tensor, at::Tensor> normed(const at::Tensor& q, const at::Tensor& k) const;
  std::pair<at::Tensor, at::Tensor> appended(const Inputs& inputs, const at::Tensor& k, const at::Tensor& v) const;
  void advance(const Inputs& inputs) const;
  bool keeps_last(Cache& cache) const;
  std::int64_t kept_and_new(const Inputs& inputs) const;

  const QkvOptions options_;
  torch::nn::Linear q_proj_{nullptr}, k_proj_{nullptr}, v_proj_{nullptr}, out_proj_{nullptr};
  at::Tensor q_norm_, k_norm_, qk_scale_;
  std::shared_ptr<Position> position_;
  bool rotates_ = false, biases_ = false;  // what the position claims
};

}  // namespace headwright

// The attention core: softmax attention of q over k and v, one for all variants of the family.
#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "headwright/mask.h"
#include "headwright/modifier.h"

namespace headwright {

/// How scores become weights, among the visible keys.
enum class Normaliser {
  softmax,      // exp(s) / sum exp(s)
  softmax_one,  // exp(s) / (1 + sum exp(s)): a row may attend to nothing. Source: Miller 2023, "Attention is off by
                // one"
  sigmoid,      // 1 / (1 + exp(-(s + b))): keys do not compete. Source: Ramapuram et al. 2024, arXiv:2409.04431
};

/// How scores are made and turned into weights.
struct Scoring {
  std::optional<double> scale;  // absent = 1 / sqrt(d_head)
  Mask mask;
  at::Tensor key_mask;  // (batch, keys) bool, true = visible; always intersected with `mask`
  std::vector<ScoreModifier> modifiers;
  double dropout = 0;           // probability of dropping a weight; pass 0 outside training
  bool same_sequence = false;   // q and k are the same tokens, so their lengths are equal
  bool needs_lse = false;       // fill Attended::lse, with its gradient
  std::string kernel = "auto";  // "auto", or the name of a kernel: one that cannot is an error, never a substitute
  Normaliser normaliser = Normaliser::softmax;
  at::Tensor sink;                      // (n_heads): one more logit of each row, dropped after the softmax
  std::optional<double> sigmoid_bias;   // b of the sigmoid; absent = -log(k_len)
  at::Tensor document_ids;              // (batch, k_len) int64, of the keys; queries are the last q_len of them
  at::Tensor q_positions, k_positions;  // (len) or (batch, len) int64, for modifiers; absent = counted along the keys
};

/// Where the scores that a modifier sees stand. Both broadcast to (batch, n_heads, q_len, k_len).
struct ScorePositions {
  at::Tensor q_positions;  // (q_len, 1) or (batch, 1, q_len, 1) int64
  at::Tensor k_positions;  // (1, k_len) or (batch, 1, 1, k_len) int64
};

/// scores (batch, n_heads, q_len, k_len) -> a new tensor of the same shape. Called once for all scores, or tile by
/// tile; what it returns is overwritten, so it must not be a tensor that is kept.
using ScoreFunction = std::function<at::Tensor(const at::Tensor& scores, const ScorePositions& place)>;

/// A modifier of one's own. text: as one would write it. learned: tensors it reads that may need a gradient.
HEADWRIGHT_API ScoreModifier modifier(std::string text, ScoreFunction function, std::vector<at::Tensor> learned = {});

/// s <- s - slope |i - j|. slopes: (n_heads). Throws ShapeError. Source: Press et al. 2022, arXiv:2108.12409.
HEADWRIGHT_API ScoreModifier alibi(const at::Tensor& slopes);

/// s <- s + table[bucket(j - i)]. table: (n_buckets, n_heads); distances past max_distance share the last bucket.
/// Throws ShapeError for fewer buckets than 2 (bidirectional: 4, and an even number), Error where max_distance leaves
/// no distance to share one. Source: Raffel et al. 2020, arXiv:1910.10683, section 2.1.
HEADWRIGHT_API ScoreModifier relative_bias(const at::Tensor& table, bool bidirectional, std::int64_t max_distance);

struct Attended {
  at::Tensor y;  // (batch, n_heads, q_len, d_value)
  at::Tensor
      lse;  // (batch, n_heads, q_len): log of the sum of exponentials over visible keys; undefined unless asked for
};

/// Requested against effective kernel, and why.
struct KernelChoice {
  std::string requested, effective, reason;
};

/// Softmax attention of q over k and v.
///
/// q: (batch, n_heads, q_len, d_head); k: (batch, n_kv_heads, k_len, d_head); v: (batch, n_kv_heads, k_len, d_value);
/// same dtype and device. y: (batch, n_heads, q_len, d_value).
/// Query head h reads key head h // (n_heads / n_kv_heads).
/// A query that sees no key gives zeros and lse = -inf, with finite gradients. A sink is no part of lse.
/// Throws ShapeError where shapes do not fit, Error where the forced kernel cannot express the request.
HEADWRIGHT_API Attended attend(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const Scoring& scoring);

/// The kernel that attend() takes for this request. Decided by what is asked, never by sizes.
HEADWRIGHT_API KernelChoice choose_kernel(const Scoring& scoring);

/// Names of the kernels, in the order in which "auto" tries them.
HEADWRIGHT_API std::vector<std::string> kernel_names();

/// Which rows of a weight matrix are wanted; an empty list = all.
struct WeightChoice {
  std::vector<std::int64_t> heads, queries;
};

/// The weights that attend() applies, recomputed from q and k: (batch, n_heads, q_len, k_len), or only the chosen heads
/// and queries. Without dropout. lse: as attend() gave it; undefined = computed.
HEADWRIGHT_API at::Tensor attention_weights(const at::Tensor& q, const at::Tensor& k, const Scoring& scoring,
                                            const WeightChoice& choice = {}, const at::Tensor& lse = {});

/// For a variant that makes weights of scores in its own way, all of them in memory. These three throw ShapeError where
/// q, k, v and the scoring do not fit together:
/// scores after scale and modifiers, before the mask, (batch, n_heads, q_len, k_len), in float32 for half types;
HEADWRIGHT_API at::Tensor attention_scores(const at::Tensor& q, const at::Tensor& k, const Scoring& scoring);

/// what the mask and the key mask show, bool, 4 dimensions that broadcast to the scores; undefined = everything;
HEADWRIGHT_API at::Tensor visible_keys(const at::Tensor& q, const at::Tensor& k, const Scoring& scoring);

/// and the sums that weights make of v: (batch, n_heads, q_len, d_value), in v's dtype.
HEADWRIGHT_API at::Tensor weighted_values(const at::Tensor& weights, const at::Tensor& v);

/// Softmax over the last dimension among what is visible; rows that see nothing are zero, with finite gradients.
/// visible: bool, broadcastable to scores; undefined = everything.
HEADWRIGHT_API at::Tensor masked_softmax(const at::Tensor& scores, const at::Tensor& visible);

}  // namespace headwright

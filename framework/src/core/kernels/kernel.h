// One way to compute softmax attention. A new kernel is a file beside this one that defines
// NAME_kernel(), and a row of the table below.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/masks/mask_node.h"
#include "headwright/attend.h"

namespace headwright::core {

/// A checked request: shapes fit together, the kernel can express it.
struct Request {
  const at::Tensor &q, &k, &v;
  const Scoring& scoring;
};

class Kernel {
 public:
  virtual ~Kernel();
  virtual std::string name() const = 0;

  /// What this kernel cannot express of `scoring`, as a phrase after "cannot"; nothing if it can.
  virtual std::optional<std::string> cannot(const Scoring& scoring) const = 0;

  /// What it records in a trace runs in stock PyTorch at any shape.
  virtual bool exportable() const { return true; }

  /// Why "auto" takes it before those that stand above it in the table, as a phrase; nothing if it does not.
  virtual std::optional<std::string> preferred_for(const Scoring&) const { return {}; }

  virtual Attended run(const Request& request) const = 0;
};

/// In the order in which "auto" tries them; the last one can express everything.
#define HEADWRIGHT_KERNELS(ROW) \
  ROW(sdpa)                     \
  ROW(blockwise)                \
  ROW(reference)

#define HEADWRIGHT_DECLARE(name) std::unique_ptr<Kernel> name##_kernel();
HEADWRIGHT_KERNELS(HEADWRIGHT_DECLARE)
#undef HEADWRIGHT_DECLARE
const std::vector<std::unique_ptr<Kernel>>& kernels();

/// The kernel for `scoring`; throws Error where the forced one cannot or is not known.
const Kernel& kernel_for(const Scoring& scoring);

/// Throw ShapeError or Error where the request does not fit together.
void check_query(const at::Tensor& q, const at::Tensor& k);
void check_scoring(const at::Tensor& q, const at::Tensor& k, const Scoring& scoring);

/// 1 / sqrt(d_head) unless the scoring says otherwise.
double scale_of(const at::Tensor& q, const Scoring& scoring);

/// scoring.mask and scoring.key_mask together.
Mask mask_of(const Scoring& scoring);

/// Where all queries and keys stand, and what the run says of them.
MaskInputs mask_inputs(const at::Tensor& q, const at::Tensor& k, const Scoring& scoring);
ScorePositions score_place(const MaskInputs& inputs, const Scoring& scoring);

/// The same for chosen queries and a range of keys.
MaskInputs slice(const MaskInputs& inputs, const at::Tensor& queries, std::int64_t k_begin, std::int64_t k_end);
ScorePositions slice(const ScorePositions& place, const at::Tensor& queries, std::int64_t k_begin, std::int64_t k_end);

/// mask_of(scoring): bool, 4 dimensions, broadcastable to (batch, n_heads, q_len, k_len); undefined = everything.
at::Tensor visible_keys(const Scoring& scoring, const MaskInputs& inputs);

/// The scores after scale and modifiers, before the mask: (batch, n_heads, q_len, k_len).
at::Tensor modified_scores(const at::Tensor& q, const at::Tensor& k, const Scoring& scoring,
                           const ScorePositions& place);

/// The logit that joins each row's softmax, broadcastable to lse (batch, n_heads, q_len), where there is one.
bool has_sink(const Scoring& scoring);
at::Tensor sink_logit(const Scoring& scoring, const at::Tensor& lse);

/// The weights of the sigmoid normaliser before the mask. scores: (batch, n_heads, q_len, k_len), or part of them.
at::Tensor sigmoid_weights(const at::Tensor& scores, const Scoring& scoring, const at::Tensor& k);

}  // namespace headwright::core

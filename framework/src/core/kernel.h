// One way to compute softmax attention. A new kernel is a file beside this one and a row in kernels.cpp.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

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

  virtual Attended run(const Request& request) const = 0;
};

std::unique_ptr<Kernel> sdpa_kernel();
std::unique_ptr<Kernel> reference_kernel();

/// In the order in which "auto" tries them; the last one can express everything.
const std::vector<std::unique_ptr<Kernel>>& kernels();

/// The kernel for `scoring`; throws Error where the forced one cannot or is not known.
const Kernel& kernel_for(const Scoring& scoring);

/// 1 / sqrt(d_head) unless the scoring says otherwise.
double scale_of(const at::Tensor& q, const Scoring& scoring);

/// scoring.mask and scoring.key_mask together: bool, 4 dimensions, broadcastable to (batch, n_heads, q_len, k_len);
/// undefined = everything is visible.
at::Tensor visible_keys(const at::Tensor& q, const at::Tensor& k, const Scoring& scoring);

/// x in float32 if it is in half precision: the products and the softmax of halves lose too much.
at::Tensor wide(const at::Tensor& x);

/// The scores after scale and modifiers, before the mask: (batch, n_heads, q_len, k_len).
at::Tensor modified_scores(const at::Tensor& q, const at::Tensor& k, const Scoring& scoring);

}  // namespace headwright::core

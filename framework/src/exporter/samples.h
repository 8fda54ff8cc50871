// Seeded inputs of any size for a model, drawn without touching torch's own random state.
#pragma once
#include <ATen/core/Generator.h>

#include "bind/plan.h"
#include "exporter/signature.h"

namespace headwright::exporter {

struct Size {
  std::int64_t batch = 0, seq = 0, context_len = 0;
};

class Samples {
 public:
  explicit Samples(const bind::Plan& plan);

  /// Inputs of the whole model. Masks hide some keys, and in a batch of several all keys of the last row.
  Inputs inputs(const Size& size, bool masked);

  /// Inputs of a component that takes features of this width in the plan's dtype; 0 = token ids.
  Inputs features(const Size& size, std::int64_t width, bool masked);

 private:
  at::Tensor tokens(const Size& size);
  at::Tensor normal(at::IntArrayRef shape);
  at::Tensor mask(std::int64_t batch, std::int64_t keys);

  const std::int64_t d_model_, vocab_size_;  // 0 = features come in
  const at::ScalarType dtype_;
  const std::int64_t d_context_;
  at::Generator generator_;
};

}  // namespace headwright::exporter

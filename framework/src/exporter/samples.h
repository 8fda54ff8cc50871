// Seeded inputs of any size for a model, drawn without touching torch's own random state.
#pragma once
#include <ATen/core/Generator.h>

#include "bind/plan.h"
#include "exporter/signature.h"

namespace headwright::exporter {

struct Size {
  std::int64_t batch = 0, seq = 0, memory_len = 0;
};

class Samples {
 public:
  explicit Samples(const bind::Plan& plan);

  /// Inputs of the whole model, everything that it may take among them. Masks hide some keys, and in a batch of
  /// several all keys of the last row.
  Inputs inputs(const Size& size);

  /// Inputs of a component whose x is `wanted`.
  Inputs component(const Size& size, const bind::Wanted& wanted);

 private:
  at::Tensor sequence(std::int64_t batch, std::int64_t len, const bind::Wanted& wanted);
  at::Tensor mask(std::int64_t batch, std::int64_t keys);
  at::Tensor document_ids(const Size& size);
  at::Tensor positions(const Size& size);

  const bind::ModelPlan& plan_;
  const at::ScalarType dtype_;
  const std::int64_t d_memory_;  // of what the layers read; 0 = none reads a memory
  at::Generator generator_;
};

}  // namespace headwright::exporter

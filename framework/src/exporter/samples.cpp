#include "exporter/samples.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

#include "model/build.h"

namespace headwright::exporter {
namespace {

/// Width of the memory that the layers read: an encoder's output, or what comes in.
std::int64_t memory_width(const bind::ModelPlan& plan) {
  if (!plan.takes_memory()) return 0;
  return plan.encoder ? plan.encoder->last_dims().d_model : plan.memory_width();
}

}  // namespace

Samples::Samples(const bind::Plan& plan)
    : plan_(plan.model),
      dtype_(model::dtype_from(plan.run.dtype)),
      d_memory_(memory_width(plan.model)),
      generator_(at::make_generator<at::CPUGeneratorImpl>(123)) {}

Inputs Samples::inputs(const Size& size) {
  auto inputs = component(size, plan_.dims.d_model, plan_.embedding ? plan_.embedding->vocab_size : 0);
  if (plan_.takes_memory()) {
    inputs.memory = sequence(size.batch, size.memory_len, plan_.memory_width(), plan_.memory_vocab_size());
  }
  return inputs;
}

Inputs Samples::component(const Size& size, std::int64_t width, std::int64_t vocab_size) {
  Inputs inputs;
  inputs.x = sequence(size.batch, size.seq, width, vocab_size);
  inputs.key_mask = mask(size.batch, size.seq);
  inputs.document_ids = document_ids(size);
  if (d_memory_ > 0) {
    inputs.memory = sequence(size.batch, size.memory_len, d_memory_, 0);
    inputs.memory_mask = mask(size.batch, size.memory_len);
  }
  return inputs;
}

at::Tensor Samples::sequence(std::int64_t batch, std::int64_t len, std::int64_t width, std::int64_t vocab_size) {
  if (vocab_size > 0) return at::randint(0, vocab_size, {batch, len}, generator_, at::dtype(at::kLong));
  return at::randn({batch, len, width}, generator_, at::dtype(at::kFloat)).to(dtype_);
}

at::Tensor Samples::mask(std::int64_t batch, std::int64_t keys) {
  auto visible = at::rand({batch, keys}, generator_, at::dtype(at::kFloat)).lt(0.7);
  if (batch > 1) visible.select(0, batch - 1).fill_(false);
  return visible;
}

/// A new document begins at about every third token.
at::Tensor Samples::document_ids(const Size& size) {
  return at::rand({size.batch, size.seq}, generator_, at::dtype(at::kFloat)).lt(0.3).to(at::kLong).cumsum(1);
}

}  // namespace headwright::exporter

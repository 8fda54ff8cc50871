#include "exporter/samples.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

#include "model/build.h"

namespace headwright::exporter {
namespace {

std::int64_t context_width(const bind::ModelPlan& plan) {
  for (const auto& block : plan.blocks) {
    if (block.attention && block.claims.context) {
      return block.dims.d_context != 0 ? block.dims.d_context : block.dims.d_model;
    }
  }
  return 0;
}

}  // namespace

Samples::Samples(const bind::Plan& plan)
    : d_model_(plan.model.dims.d_model),
      vocab_size_(plan.model.embedding ? plan.model.embedding->vocab_size : 0),
      dtype_(model::dtype_from(plan.run.dtype)),
      d_context_(context_width(plan.model)),
      generator_(at::make_generator<at::CPUGeneratorImpl>(123)) {}

Inputs Samples::inputs(const Size& size, bool masked) { return features(size, vocab_size_ > 0 ? 0 : d_model_, masked); }

Inputs Samples::features(const Size& size, std::int64_t width, bool masked) {
  Inputs inputs;
  inputs.x = width > 0 ? normal({size.batch, size.seq, width}) : tokens(size);
  if (d_context_ > 0) inputs.context = normal({size.batch, size.context_len, d_context_});
  if (masked) inputs.key_mask = mask(size.batch, size.seq);
  if (masked && d_context_ > 0) inputs.context_mask = mask(size.batch, size.context_len);
  return inputs;
}

at::Tensor Samples::tokens(const Size& size) {
  return at::randint(0, vocab_size_, {size.batch, size.seq}, generator_, at::dtype(at::kLong));
}

at::Tensor Samples::normal(at::IntArrayRef shape) {
  return at::randn(shape, generator_, at::dtype(at::kFloat)).to(dtype_);
}

at::Tensor Samples::mask(std::int64_t batch, std::int64_t keys) {
  auto visible = at::rand({batch, keys}, generator_, at::dtype(at::kFloat)).lt(0.7);
  if (batch > 1) visible.select(0, batch - 1).fill_(false);
  return visible;
}

}  // namespace headwright::exporter

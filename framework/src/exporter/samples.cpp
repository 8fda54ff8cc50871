// Draws tokens, features, masks, documents and positions of any size from a generator of its own.
#include "exporter/samples.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

#include "model/build.h"

namespace headwright::exporter {
namespace {

/// Width of the memory that the layers read: an encoder's output, or what comes in.
std::int64_t memory_width(const bind::ModelPlan& plan) {
  if (!plan.takes_memory()) return 0;
  return plan.encoder ? plan.encoder->last_dims().d_model : bind::wanted_memory(plan).item_shape.front();
}

}  // namespace

Samples::Samples(const bind::Plan& plan)
    : plan_(plan.model),
      dtype_(model::dtype_from(plan.run.dtype)),
      d_memory_(memory_width(plan.model)),
      generator_(at::make_generator<at::CPUGeneratorImpl>(123)) {}

Inputs Samples::inputs(const Size& size) {
  auto inputs = component(size, bind::wanted_input(plan_));
  if (plan_.takes_memory()) inputs.memory = sequence(size.batch, size.memory_len, bind::wanted_memory(plan_));
  return inputs;
}

Inputs Samples::component(const Size& size, const bind::Wanted& wanted) {
  Inputs inputs;
  if (wanted.takes != Takes::nothing) inputs.x = sequence(size.batch, size.seq, wanted);
  inputs.key_mask = mask(size.batch, size.seq);
  inputs.document_ids = document_ids(size);
  inputs.positions = positions(size);
  if (plan_.takes_token_types())
    inputs.token_types =
        at::randint(0, plan_.embedding.claims.n_token_types, {size.batch, size.seq}, generator_, at::dtype(at::kLong));
  if (d_memory_ > 0) {
    inputs.memory = sequence(size.batch, size.memory_len, {.item_shape = {d_memory_}});
    inputs.memory_mask = mask(size.batch, size.memory_len);
  }
  return inputs;
}

at::Tensor Samples::sequence(std::int64_t batch, std::int64_t len, const bind::Wanted& wanted) {
  if (wanted.takes == Takes::tokens) {
    return at::randint(0, wanted.vocab_size, {batch, len}, generator_, at::dtype(at::kLong));
  }
  std::vector<std::int64_t> shape{batch};
  if (wanted.takes == Takes::features) shape.push_back(len);
  shape.insert(shape.end(), wanted.item_shape.begin(), wanted.item_shape.end());
  return at::randn(shape, generator_, at::dtype(at::kFloat)).to(dtype_);
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

/// Anywhere that a token may stand, in no order.
at::Tensor Samples::positions(const Size& size) {
  const auto longest = plan_.dims.context_length > 0 ? plan_.dims.context_length : 2 * size.seq + 1;
  return at::randint(0, longest, {size.batch, size.seq}, generator_, at::dtype(at::kLong));
}

}  // namespace headwright::exporter

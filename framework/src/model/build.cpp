// Refuses what cannot fit, then seeds, draws, casts and moves.
#include "model/build.h"

#include <ATen/ATen.h>

#include "support/system.h"
#include "support/text.h"

namespace headwright::model {
namespace {

void expect_room(const bind::Plan& plan) {
  const auto bytes = estimate_bytes(plan.model, at::kFloat);  // drawn in float32, whatever the dtype is later
  const auto usable = support::usable_memory();
  if (bytes <= usable) return;
  throw ResourceError("'" + plan.name + "' needs " + support::bytes_text(static_cast<double>(bytes)) +
                      " of memory for its weights, but this process can take " +
                      support::bytes_text(static_cast<double>(usable)) +
                      "; make d_model, d_ff, vocab_size, context_length or the stack smaller");
}

}  // namespace

void place(torch::nn::Module& module, at::Device device, at::ScalarType dtype) {
  const torch::NoGradGuard no_grad;
  const auto move = [&](const at::Tensor& tensor) {
    tensor.set_data(tensor.to(device, tensor.is_floating_point() ? dtype : tensor.scalar_type()));
  };
  for (const auto& parameter : module.parameters()) move(parameter);
  for (const auto& buffer : module.buffers()) move(buffer);
}

std::shared_ptr<Model> build(const bind::Plan& plan) {
  const auto device = device_from(plan.run.device);
  const auto dtype = dtype_from(plan.run.dtype);
  expect_kernels(plan);
  expect_room(plan);
  at::manual_seed(static_cast<std::uint64_t>(plan.run.seed));
  auto model = std::make_shared<Model>(plan.model);
  place(*model, device, dtype);
  model->eval();
  return model;
}

}  // namespace headwright::model

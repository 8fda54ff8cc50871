// What a layer reads off its inputs before it computes.
#include <ATen/ATen.h>

#include "headwright/attention.h"
#include "headwright/shapes.h"

namespace headwright {

Inputs Inputs::with(at::Tensor new_x, std::string_view child) const {
  Inputs inputs = *this;
  inputs.x = std::move(new_x);
  inputs.path += (path.empty() ? "" : ".") + std::string(child);
  return inputs;
}

Attended attend(const Inputs& inputs, const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                const Scoring& scoring) {
  auto attended = attend(q, k, v, scoring);
  note_weights(inputs, q, k, scoring, attended.lse);
  if (inputs.recorder != nullptr && inputs.recorder->wants_call(inputs.path)) {
    const Attended result{attended.y.detach(), attended.lse.defined() ? attended.lse.detach() : at::Tensor()};
    inputs.recorder->add_call({inputs.path, q.detach(), k.detach(), v.detach(), scoring, result});
  }
  return attended;
}

at::Tensor positions_of(const Inputs& inputs) {
  if (inputs.positions.defined()) return inputs.positions;
  const auto places = positions_along(inputs.x, 1);
  return inputs.cache == nullptr ? places : places + inputs.cache->length.to(places.device());
}

at::Tensor key_mask_of_x(std::string_view op, const Inputs& inputs) {
  if (!inputs.key_mask.defined() || inputs.cache == nullptr) return inputs.key_mask;
  const auto before = inputs.cache->tokens(), all = before + inputs.x.size(1);
  if (inputs.key_mask.size(1) != all) {
    refuse_shape(op, "key_mask", inputs.key_mask, "(batch, " + std::to_string(all) + "), all tokens so far");
  }
  return inputs.key_mask.slice(1, before);
}

Scoring scoring_of_run(const Inputs& inputs, const Dims& dims, bool cross) {
  Scoring scoring;
  scoring.key_mask = cross ? inputs.memory_mask : inputs.key_mask;
  if (!cross) scoring.document_ids = inputs.document_ids;
  scoring.same_sequence = !cross && inputs.cache == nullptr;
  scoring.kernel = dims.kernel;
  return scoring;
}

}  // namespace headwright

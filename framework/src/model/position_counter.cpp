// Counts positions with sums along the sequence, which trace at any length.
#include "model/position_counter.h"

#include <ATen/ATen.h>

#include "headwright/shapes.h"

namespace headwright::model {
namespace {

/// True where a document begins, that is at the first token and wherever the id is another than before it.
at::Tensor begins(const at::Tensor& ids) {
  const auto first = at::ones_like(ids.slice(1, 0, 1), at::kBool);
  return at::cat({first, ids.slice(1, 1).ne(ids.slice(1, 0, -1))}, 1);  // (batch, all)
}

}  // namespace

at::Tensor PositionCounter::forward(const Inputs& inputs) const {
  const auto x = inputs.x.dim() > 2 ? inputs.x.select(-1, 0) : inputs.x;  // (batch, seq)
  const bool along = plan_.visible && inputs.key_mask.defined();
  const bool anew = plan_.per_document && inputs.document_ids.defined();
  const auto every = along  ? inputs.key_mask
                     : anew ? at::ones_like(inputs.document_ids, at::kBool)
                            : at::ones_like(x, at::kBool);
  const auto counted = every.to(at::kLong);  // (batch, all)
  auto positions = counted.cumsum(1) - 1;
  if (anew) {
    // What stood before a document is taken off; it only grows along a row, so the largest so far is that of the last.
    const auto before = (positions + 1 - counted).masked_fill(begins(inputs.document_ids).logical_not(), 0);
    positions = positions - std::get<0>(before.cummax(1));
  }
  positions = positions.clamp_min(0);
  if (along || anew) {
    const auto places = positions_along(x, 1) - positions_along(x, 1).slice(0, -1) - 1;  // -seq, ..., -1
    const auto all = positions_along(positions, 1).slice(0, -1) + 1;
    return positions.index_select(1, places + all);
  }
  return inputs.cache == nullptr ? positions : positions + inputs.cache->length.to(positions.device());
}

}  // namespace headwright::model

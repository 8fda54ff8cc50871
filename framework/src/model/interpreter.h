// What a block does, written once: on tensors it computes, on expressions it prints the block's TorchScript, so that
// the eager and the exported form cannot differ.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "bind/plan.h"

namespace headwright::model {

/// Walks the sublayers with `ops`, which makes a Value of each step:
///   normed(sublayer, norm, value), output(sublayer, value): f of it, with dropout, scaled(sublayer, value),
///   sum(sublayer, value, value).
/// A sublayer has `plan`, and `norm`, `output_norm`, `residual_norm`, each false where it is not there.
template <class Sublayers, class Ops, class Value>
Value run_block(const Sublayers& sublayers, Ops& ops, const Value& input) {
  Value x = input;
  std::vector<std::pair<std::string, Value>> normed;  // what later sublayers may share, by the sublayer that made it
  for (const auto& sublayer : sublayers) {
    const auto& plan = sublayer.plan;
    Value read = plan.input == bind::Reads::block ? input : x;
    for (const auto& [name, value] : normed) {
      if (name == plan.shared_norm) read = value;
    }
    if (sublayer.norm) {
      read = ops.normed(sublayer, sublayer.norm, read);
      if (plan.input == bind::Reads::block) normed.emplace_back(plan.name, read);
    }
    Value y = ops.output(sublayer, read);
    if (sublayer.output_norm) y = ops.normed(sublayer, sublayer.output_norm, y);
    if (plan.dropout > 0) y = ops.dropped(sublayer, y);
    if (plan.residual_scale != 1) y = ops.scaled(sublayer, y);
    x = plan.residual ? ops.sum(sublayer, x, y) : y;
    if (sublayer.residual_norm) x = ops.normed(sublayer, sublayer.residual_norm, x);
  }
  return x;
}

}  // namespace headwright::model

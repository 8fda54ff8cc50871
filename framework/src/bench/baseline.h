// The attention of one layer alone, through the core and by a direct call, on the same q, k and v.
#pragma once
#include <string>
#include <variant>
#include <vector>

#include "bench/timing.h"
#include "bind/plan.h"
#include "headwright/attend.h"
#include "model/model.h"

namespace headwright::bench {

/// What a layer asks of the attention core, taken from a forward pass.
struct CoreCall {
  std::string layer;   // "blocks.0.attention"
  at::Tensor q, k, v;  // as the layer made them: (batch, n_heads, q_len, d_head), ...
  Scoring scoring;
  at::Tensor y;  // what the layer made of them
};

/// Why something cannot be compared, as a phrase.
using Reason = std::string;

/// The call of the first layer on the core, or why there is none. The call gives what the layer gave: a variant that
/// does more than its mask, modifiers, normaliser, scale and sink say is refused.
std::variant<CoreCall, Reason> first_core_call(const bind::Plan& plan, model::Model& model, const Inputs& inputs);

/// The same through attend().
Work core_work(const CoreCall& call);

/// sdpa: at::scaled_dot_product_attention, is_causal where the mask is plainly causal, else with the same mask as a
/// dense tensor of booleans, made beforehand. dense: a product, the modifiers, a masked softmax, a product.
/// A reason where it cannot express the call.
std::variant<Work, Reason> direct_work(const std::string& baseline, const CoreCall& call);

std::vector<std::string> baseline_names();

/// The largest difference of two results relative to the largest value of `expected`, and what rounding explains.
double relative_difference(const at::Tensor& got, const at::Tensor& expected);
double tolerance_of(at::ScalarType dtype);

}  // namespace headwright::bench

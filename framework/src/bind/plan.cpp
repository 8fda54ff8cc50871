// What a plan says of the model as a whole.
#include "bind/plan.h"

#include <algorithm>

#include "bind/walk.h"

namespace headwright::bind {
namespace {

/// How often `asked` holds among attentions of one kind: those that read the memory, or those that read x.
struct Counted {
  bool any = false, all = true;
};

Counted counted(const StackPlan& stack, bool of_memory, bool Claims::* asked) {
  Counted result;
  for (const auto& block : stack.blocks) {
    for (const auto& sublayer : block.sublayers) {
      if (!sublayer.is_attention() || sublayer.claims.memory != of_memory) continue;
      result.any = true;
      result.all &= sublayer.claims.*asked;
    }
  }
  return result;
}

}  // namespace

Dims SublayerPlan::dims_after() const {
  Dims after = dims;
  after.d_model = d_out;
  return after;
}

Dims StackPlan::last_dims() const {
  Dims last = dims;
  if (!blocks.empty()) last.d_model = blocks.back().d_out;
  return last;
}

bool ModelPlan::takes_x() const { return !embedding || embedding.claims.takes != Takes::nothing; }

bool ModelPlan::takes_memory() const { return !takes_x() || counted(*this, true, &Claims::memory).any; }

bool ModelPlan::takes_key_mask() const {
  if (embedding && embedding.claims.takes != Takes::tokens && embedding.claims.takes != Takes::features) return false;
  const auto [any, all] = counted(*this, false, &Claims::key_mask);
  return (any || (head && head.claims.key_mask)) && all;
}

bool ModelPlan::takes_memory_mask() const {
  const auto [any, all] = counted(*this, true, &Claims::key_mask);
  return any && all && (!encoder || counted(*encoder, false, &Claims::key_mask).all);
}

bool ModelPlan::takes_document_ids() const {
  const auto [any, all] = counted(*this, false, &Claims::document_ids);
  return any && all;
}

bool ModelPlan::takes_positions() const {
  if (embedding && embedding.claims.positions) return true;
  return std::ranges::any_of(walk_attentions(*this),
                             [](const Place& place) { return !place.in_encoder && place.claims->positions; });
}

bool ModelPlan::takes_token_types() const { return embedding && embedding.claims.n_token_types > 0; }

std::int64_t ModelPlan::longest_memory() const { return encoder ? encoder->dims.context_length : 0; }

Wanted wanted_input(const StackPlan& stack) {
  if (!stack.embedding) return {.item_shape = {stack.dims.d_model}};
  const auto& claims = stack.embedding.claims;
  return {claims.takes, claims.vocab_size, claims.item_shape};
}

Wanted wanted_memory(const ModelPlan& model) {
  if (model.encoder) return wanted_input(*model.encoder);
  return {.item_shape = {model.dims.d_memory != 0 ? model.dims.d_memory : model.dims.d_model}};
}

}  // namespace headwright::bind

#include "bind/plan.h"

#include <algorithm>

namespace headwright::bind {
namespace {

/// How often `asked` holds for the claims of attentions that read the memory, or of those that read x.
struct Counted {
  bool any = false, all = true;

  void add(const Component& attention, const Claims& claims, bool of_memory, bool Claims::* asked) {
    if (!attention || claims.memory != of_memory) return;
    any = true;
    all &= claims.*asked;
  }
};

Counted counted(const StackPlan& stack, bool of_memory, bool Claims::* asked) {
  Counted result;
  for (const auto& block : stack.blocks) {
    result.add(block.attention, block.claims, of_memory, asked);
    result.add(block.cross_attention, block.cross_claims, of_memory, asked);
  }
  return result;
}

}  // namespace

Dims BlockPlan::feed_forward_dims() const {
  Dims after = dims;
  after.d_model = d_out;
  return after;
}

Dims StackPlan::last_dims() const {
  Dims last = dims;
  if (!blocks.empty()) last.d_model = blocks.back().d_out;
  return last;
}

bool ModelPlan::takes_memory() const { return counted(*this, true, &Claims::memory).any; }

bool ModelPlan::takes_key_mask() const {
  const auto [any, all] = counted(*this, false, &Claims::key_mask);
  return any && all;
}

bool ModelPlan::takes_memory_mask() const {
  const auto [any, all] = counted(*this, true, &Claims::key_mask);
  return any && all && (!encoder || counted(*encoder, false, &Claims::key_mask).all);
}

bool ModelPlan::takes_document_ids() const {
  return std::ranges::any_of(blocks, [](const BlockPlan& block) {
    return (block.attention && block.claims.document_ids) || (block.cross_attention && block.cross_claims.document_ids);
  });
}

std::int64_t ModelPlan::memory_vocab_size() const {
  return encoder && encoder->embedding ? encoder->embedding->vocab_size : 0;
}

std::int64_t ModelPlan::memory_width() const {
  if (encoder) return encoder->dims.d_model;
  return dims.d_memory != 0 ? dims.d_memory : dims.d_model;
}

std::int64_t ModelPlan::longest_memory() const { return encoder ? encoder->dims.context_length : 0; }

}  // namespace headwright::bind

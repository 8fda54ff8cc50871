#include "bind/attention_slots.h"

namespace headwright::bind {

std::vector<AttentionSlot> attention_slots(const ModelPlan& plan) {
  std::vector<AttentionSlot> slots;
  const auto add = [&](const StackPlan& stack, bool in_encoder) {
    for (std::size_t i = 0; i < stack.blocks.size(); ++i) {
      const auto& block = stack.blocks[i];
      const auto path = std::string(in_encoder ? "encoder." : "") + "blocks." + std::to_string(i) + ".";
      if (block.attention) {
        slots.push_back({path + "attention", in_encoder, &block, &block.attention, &block.claims, &block.dims});
      }
      if (block.cross_attention) {
        slots.push_back({path + "cross_attention", in_encoder, &block, &block.cross_attention, &block.cross_claims,
                         &block.cross_dims});
      }
    }
  };
  if (plan.encoder) add(*plan.encoder, true);
  add(plan, false);
  return slots;
}

}  // namespace headwright::bind

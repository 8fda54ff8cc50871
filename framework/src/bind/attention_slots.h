// Every attention of a model, wherever it stands.
#pragma once
#include <string>
#include <vector>

#include "bind/plan.h"

namespace headwright::bind {

struct AttentionSlot {
  std::string path;  // of its module: "encoder.blocks.0.attention"
  bool in_encoder = false;
  const BlockPlan* block = nullptr;
  const Component* component = nullptr;
  const Claims* claims = nullptr;
  const Dims* dims = nullptr;
};

/// An encoder's first, then by layer. It points into `plan`.
std::vector<AttentionSlot> attention_slots(const ModelPlan& plan);

}  // namespace headwright::bind

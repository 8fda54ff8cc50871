// Every component of a model, in the order in which data passes them: the one walk behind footprints, masks, kernels,
// benchmarks, checks and exports.
#pragma once
#include <string>
#include <vector>

#include "bind/plan.h"

namespace headwright::bind {

struct Place {
  std::string path;  // of its module: "encoder.blocks.0.attention"
  bool in_encoder = false;
  const Component* component = nullptr;
  const Dims* dims = nullptr;
  const Claims* claims = nullptr;          // null for a norm of a sublayer, which claims nothing
  const BlockPlan* block = nullptr;        // null = no part of a block
  const SublayerPlan* sublayer = nullptr;  // null = no part of a block
};

/// An encoder's components first, then the model's own. A layer that shares its module has the places of its own path.
/// The places point into `plan`.
std::vector<Place> walk(const ModelPlan& plan);

/// The attentions among them.
std::vector<Place> walk_attentions(const ModelPlan& plan);

/// Names of a sublayer's norms within its block: of its input, of its output, of the sum.
std::string norm_name(const SublayerPlan& sublayer);
std::string output_norm_name(const SublayerPlan& sublayer);
std::string residual_norm_name(const SublayerPlan& sublayer);

}  // namespace headwright::bind

// Walks stem, layers, head and encoder in the order of the data, with the path of each module.
#include "bind/walk.h"

#include <algorithm>

namespace headwright::bind {
namespace {

class Walker {
 public:
  explicit Walker(const ModelPlan& plan) {
    if (plan.encoder) stack(*plan.encoder, "encoder.");
    stack(plan, "");
    add("head", plan.head);
  }

  std::vector<Place> take() { return std::move(places_); }

 private:
  void stack(const StackPlan& plan, const std::string& prefix) {
    in_encoder_ = !prefix.empty();
    add(prefix + "embedding", plan.embedding);
    for (std::size_t i = 0; i < plan.blocks.size(); ++i) {
      block(plan.blocks[i], prefix + "blocks." + std::to_string(i) + ".");
    }
    add(prefix + "final_norm", plan.final_norm);
  }

  void block(const BlockPlan& plan, const std::string& prefix) {
    for (const auto& sublayer : plan.sublayers) {
      const auto norm = [&](const Component& component, const std::string& name) {
        if (!component) return;
        places_.push_back({prefix + name, in_encoder_, &component, &sublayer.dims, nullptr, &plan, &sublayer});
      };
      norm(sublayer.norm, norm_name(sublayer));
      places_.push_back({prefix + sublayer.name, in_encoder_, &sublayer.component, &sublayer.dims, &sublayer.claims,
                         &plan, &sublayer});
      norm(sublayer.output_norm, output_norm_name(sublayer));
      norm(sublayer.residual_norm, residual_norm_name(sublayer));
    }
  }

  void add(const std::string& path, const Placed& placed) {
    if (placed) places_.push_back({path, in_encoder_, &placed.component, &placed.dims, &placed.claims});
  }

  std::vector<Place> places_;
  bool in_encoder_ = false;
};

}  // namespace

std::vector<Place> walk(const ModelPlan& plan) { return Walker(plan).take(); }

std::vector<Place> walk_attentions(const ModelPlan& plan) {
  auto places = walk(plan);
  std::erase_if(places, [](const Place& place) {
    return place.sublayer == nullptr || place.claims == nullptr || !place.sublayer->is_attention();
  });
  return places;
}

std::string norm_name(const SublayerPlan& sublayer) { return sublayer.name + "_norm"; }

std::string output_norm_name(const SublayerPlan& sublayer) { return sublayer.name + "_output_norm"; }

/// The one norm of a sublayer is its norm, wherever it stands.
std::string residual_norm_name(const SublayerPlan& sublayer) {
  return sublayer.name + (sublayer.norm ? "_residual_norm" : "_norm");
}

}  // namespace headwright::bind

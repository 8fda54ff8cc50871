// Makes the modules of a block, and computes it on tensors.
#include "model/block.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <utility>

#include "bind/walk.h"
#include "model/call_component.h"
#include "model/components.h"
#include "model/interpreter.h"

namespace headwright::model {
namespace {

/// The steps of a block on tensors.
class Eager {
 public:
  Eager(const Inputs& inputs, ModelCache* caches, bool training)
      : inputs_(inputs), caches_(caches), training_(training) {}

  at::Tensor normed(const Sublayer& sublayer, const std::shared_ptr<Norm>& norm, const at::Tensor& x) const {
    const auto where = [&] {
      const auto [name, component] = norm_at(sublayer, norm);
      return std::pair(inputs_.with(x, name).path, component->variant->name);
    };
    return call_component(where, [&] { return norm->forward(x); });
  }
  at::Tensor output(const Sublayer& sublayer, const at::Tensor& x) const {
    const auto& plan = sublayer.plan;
    const auto where = [&] { return std::pair(inputs_.with(x, plan.name).path, plan.component.variant->name); };
    if (sublayer.feed_forward) return call_component(where, [&] { return sublayer.feed_forward->forward(x); });
    auto inputs = inputs_.with(x, plan.name);
    if (plan.claims.memory) inputs.key_mask = inputs.document_ids = at::Tensor();  // of x; its keys are the memory's
    inputs.cache = caches_ == nullptr ? nullptr : caches_->of(inputs.path);
    return call_component(where, [&] { return sublayer.attention->forward(inputs); });
  }
  at::Tensor dropped(const Sublayer& sublayer, const at::Tensor& y) const {
    return at::dropout(y, sublayer.plan.dropout, training_);
  }
  static at::Tensor scaled(const Sublayer& sublayer, const at::Tensor& y) { return y * sublayer.plan.residual_scale; }
  static at::Tensor sum(const Sublayer&, const at::Tensor& x, const at::Tensor& y) { return x + y; }

 private:
  const Inputs& inputs_;
  ModelCache* const caches_;
  const bool training_;
};

}  // namespace

Block::Block(const bind::BlockPlan& plan) {
  for (const auto& step : plan.sublayers) {
    Sublayer sublayer{.plan = step};
    const auto norm = [&](const Component& component, const std::string& name, const Dims& dims) {
      auto module = make<Norm>(component, dims);
      if (module) register_module(name, module);
      return module;
    };
    sublayer.norm = norm(step.norm, bind::norm_name(step), step.dims);
    sublayer.residual_norm = norm(step.residual_norm, bind::residual_norm_name(step), step.dims_after());
    if (step.is_attention()) {
      sublayer.attention = register_module(step.name, make<Attention>(step.component, step.dims));
    } else {
      sublayer.feed_forward = register_module(step.name, make<FeedForward>(step.component, step.dims));
    }
    sublayer.output_norm = norm(step.output_norm, bind::output_norm_name(step), step.dims_after());
    sublayers_.push_back(std::move(sublayer));
  }
}

NormAt norm_at(const Sublayer& sublayer, const std::shared_ptr<Norm>& norm) {
  const auto& plan = sublayer.plan;
  if (norm == sublayer.norm) return {bind::norm_name(plan), &plan.norm};
  if (norm == sublayer.output_norm) return {bind::output_norm_name(plan), &plan.output_norm};
  return {bind::residual_norm_name(plan), &plan.residual_norm};
}

at::Tensor Block::forward(const Inputs& inputs, ModelCache* caches) {
  Eager ops(inputs, caches, is_training());
  return run_block(sublayers_, ops, inputs.x);
}

const Sublayer& Block::sublayer(std::string_view name) const {
  const auto found =
      std::ranges::find(sublayers_, name, [](const Sublayer& it) { return std::string_view(it.plan.name); });
  if (found == sublayers_.end()) throw Error("no sublayer is called '" + std::string(name) + "'");
  return *found;
}

}  // namespace headwright::model

// One layer of the stack: its sublayers as modules.
#pragma once
#include <torch/nn/module.h>
#include <torch/nn/modules/dropout.h>

#include <memory>
#include <string>
#include <vector>

#include "bind/plan.h"
#include "headwright/attention.h"
#include "headwright/feed_forward.h"
#include "headwright/norm.h"
#include "model/model_cache.h"

namespace headwright::model {

/// A sublayer's plan and its modules; null = none. Exactly one of attention and feed_forward is there.
struct Sublayer {
  bind::SublayerPlan plan;
  std::shared_ptr<Attention> attention;
  std::shared_ptr<FeedForward> feed_forward;
  std::shared_ptr<Norm> norm, output_norm, residual_norm;
};

/// One of a sublayer's norms: what it is called within the block, and the component it was made of.
struct NormAt {
  std::string name;
  const Component* component = nullptr;
};
NormAt norm_at(const Sublayer& sublayer, const std::shared_ptr<Norm>& norm);

class Block final : public torch::nn::Module {
 public:
  explicit Block(const bind::BlockPlan& plan);

  /// inputs.x: (batch, seq, width). caches: what its attentions continue from, by path; null = a sequence of its own.
  at::Tensor forward(const Inputs& inputs, ModelCache* caches = nullptr);

  const std::vector<Sublayer>& sublayers() const { return sublayers_; }

  /// The sublayer called `name`. Throws Error where there is none.
  const Sublayer& sublayer(std::string_view name) const;

 private:
  std::vector<Sublayer> sublayers_;
};

}  // namespace headwright::model

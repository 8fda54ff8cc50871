// The bases of the four kinds: what a variant gets without writing it.
#include <torch/nn/module.h>

#include "headwright/attention.h"
#include "headwright/feed_forward.h"
#include "headwright/norm.h"
#include "headwright/position.h"

namespace headwright {

Attention::~Attention() = default;
FeedForward::~FeedForward() = default;
Norm::~Norm() = default;
Position::~Position() = default;

std::string_view to_string(Kind kind) {
  switch (kind) {
    case Kind::attention:
      return "attention";
    case Kind::feed_forward:
      return "feed_forward";
    case Kind::norm:
      return "norm";
    case Kind::position:
      return "position";
  }
  return "unknown";
}

KernelChoice Attention::kernel() const { return {"own", "own", "the variant computes its own scores"}; }

std::string Attention::torchscript() const { return {}; }

Cache Attention::make_cache(std::int64_t, std::int64_t) const {
  throw Error("[attention] this variant claims no cache; feed it the whole sequence");
}

void note_weights(const Inputs& inputs, const at::Tensor& q, const at::Tensor& k, const Scoring& scoring,
                  const at::Tensor& lse) {
  note(inputs, "weights", "share of each key in a token's output",
       [&] { return attention_weights(q, k, scoring, inputs.recorder->weight_choice(), lse); });
}

at::Tensor Position::embed(const at::Tensor&, const at::Tensor&) {
  throw Error("[position] this position does not claim 'embed'; use one that is added to embeddings");
}

std::pair<at::Tensor, at::Tensor> Position::rotate(const at::Tensor&, const at::Tensor&, const at::Tensor&,
                                                   const at::Tensor&) {
  throw Error("[position] this position does not claim 'rotate'; use one that rotates q and k");
}

ScoreModifier Position::bias() const {
  throw Error("[position] this position does not claim 'bias'; use one that changes scores");
}

std::shared_ptr<Position> make_position(const Component& component, const Dims& dims) {
  if (!component && !component.name.empty()) {
    throw Error("[position] the default '" + component.name + "' was not looked up: no config was read");
  }
  if (!component) return nullptr;
  auto position = std::dynamic_pointer_cast<Position>(component.variant->make(dims, component.values));
  if (!position) throw Error("[position] '" + component.variant->name + "' is not a position");
  return position;
}

}  // namespace headwright

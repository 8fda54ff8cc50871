// The bases of the kinds: what a variant gets without writing it.
#include <torch/nn/module.h>

#include <algorithm>

#include "headwright/attention.h"
#include "headwright/embedding.h"
#include "headwright/feed_forward.h"
#include "headwright/head.h"
#include "headwright/norm.h"
#include "headwright/position.h"

namespace headwright {
namespace {

template <class Base>
std::shared_ptr<Base> make_as(const Component& component, const Dims& dims) {
  if (!component && !component.name.empty()) {
    throw Error("the default '" + component.name + "' was not looked up: no config was read");
  }
  if (!component) return nullptr;
  auto module = std::dynamic_pointer_cast<Base>(component.variant->make(dims, component.values));
  if (module == nullptr)
    throw Error("'" + component.variant->name + "' made a module of another kind than it declares");
  return module;
}

}  // namespace

Attention::~Attention() = default;
FeedForward::~FeedForward() = default;
Norm::~Norm() = default;
Position::~Position() = default;
Embedding::~Embedding() = default;
Head::~Head() = default;

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
    case Kind::embedding:
      return "embedding";
    case Kind::head:
      return "head";
  }
  return "unknown";
}

KernelChoice Attention::kernel() const { return {"own", "own", "the variant computes its own scores"}; }

std::string Attention::torchscript() const { return {}; }

std::string FeedForward::torchscript() const { return {}; }

Mask Attention::mask() const { return {}; }

Cache Attention::make_cache(std::int64_t, std::int64_t) const {
  throw Error("[attention] this variant claims no cache; feed it the whole sequence");
}

at::Tensor Embedding::matrix() const { throw Error("[embedding] this embedding claims no matrix to share"); }

void Embedding::tie(const at::Tensor&) { throw Error("[embedding] this embedding does not claim 'tied'"); }

void Head::tie(const at::Tensor&) { throw Error("[head] this head does not claim 'tied'"); }

const std::vector<ClaimRow>& claim_rows() {
  static const std::vector<ClaimRow> rows{
      {"causal", "causal", &Claims::causal},
      {"memory", "reads a memory", &Claims::memory},
      {"key_mask", "takes a key mask", &Claims::key_mask},
      {"core", "on the attention core", &Claims::core},
      {"embed", "adds to embeddings", &Claims::embed},
      {"rotate", "rotates q and k", &Claims::rotate},
      {"bias", "changes scores", &Claims::bias},
      {"cache", "continues from a cache", &Claims::cache},
      {"document_ids", "honours document ids", &Claims::document_ids},
      {"positions", "follows positions", &Claims::positions},
      {"matrix", "has a matrix to share", &Claims::matrix},
      {"tied", "shares the embedding's matrix", &Claims::tied},
      {"pools", "one vector for each sequence", &Claims::pools},
      {"by_length", "depends on the sequence's length", &Claims::by_length},
      {"differentiable", "not differentiable", &Claims::differentiable, true},
      {"dynamic_export", "exports one shape only", &Claims::dynamic_export, true},
  };
  return rows;
}

void check_nested(const Component& component, const Dims& dims, std::string_view row, Issues& issues) {
  if (!component) return;
  Issues inner;
  component.variant->check(dims, component.values, inner);
  const auto& rows = component.variant->params;
  for (const auto& [name, message] : inner.items()) {
    const auto parameter = name.substr(0, name.find('.'));
    const bool own = std::ranges::find(rows, parameter, &ParamSpec::name) != rows.end();
    issues.add(own ? std::string(row) + "." + name : name, message);
  }
}

void check_embedded_position(const Component& component, const Dims& dims, Issues& issues) {
  const auto* position = component.variant;
  if (position != nullptr && !position->claims(dims, component.values).embed) {
    issues.add("position", "'" + position->name + "' adds nothing to an embedding; it belongs under an attention");
  }
  check_nested(component, dims, "position", issues);
}

void check_outputs(const Dims& dims, bool tied, std::optional<std::int64_t> d_out, Issues& issues) {
  if (!d_out && !tied && dims.vocab_size == 0) {
    issues.add("d_out", "missing: without an embedding of tokens there is no vocab_size to take it from");
  } else if (d_out && tied && dims.vocab_size > 0 && *d_out != dims.vocab_size) {
    issues.add("d_out", "got " + std::to_string(*d_out) + ", but a tied head has the width of the embedding, " +
                            std::to_string(dims.vocab_size));
  }
}

std::string filled_in(std::string text, const std::vector<std::pair<std::string, std::string>>& values) {
  for (const auto& [name, value] : values) {
    for (auto at = text.find(name); at != std::string::npos; at = text.find(name, at + value.size())) {
      text.replace(at, name.size(), value);
    }
  }
  return text;
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
  return make_as<Position>(component, dims);
}

std::shared_ptr<Norm> make_norm(const Component& component, const Dims& dims) { return make_as<Norm>(component, dims); }

}  // namespace headwright

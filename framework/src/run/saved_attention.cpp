// Takes the weights of the layers that were asked for from what they recorded.
#include "run/saved_attention.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "headwright/shapes.h"
#include "model/build.h"
#include "support/text.h"

namespace headwright::run {
namespace {

using Layer = std::pair<std::string, KernelChoice>;

/// The attention layers that `layers` names; all of them if it is empty.
std::vector<Layer> chosen_layers(const model::Model& model, const std::vector<std::string>& layers) {
  const auto all = model::kernels_of(model);
  if (layers.empty()) return all;
  std::vector<Layer> chosen;
  for (const auto& name : layers) {
    bool found = false;
    for (const auto& layer : all) {
      if (layer.first != name && !layer.first.starts_with("blocks." + name + ".")) continue;
      found = true;
      if (std::ranges::find(chosen, layer.first, &Layer::first) == chosen.end()) chosen.push_back(layer);
    }
    if (found) continue;
    std::vector<std::string> paths;
    for (const auto& layer : all) paths.push_back(layer.first);
    throw InputError("--layers: no attention is called '" + support::printable(name) +
                     "', expected an index or one of " + support::join(paths, ", "));
  }
  return chosen;
}

void expect_within(const std::string& path, const char* what, const std::vector<std::int64_t>& indices,
                   std::int64_t count) {
  for (const auto index : indices) {
    if (index >= 0 && index < count) continue;
    throw InputError(path + ": " + what + ": got " + std::to_string(index) + ", expected 0 to " +
                     std::to_string(count - 1));
  }
}

at::Tensor picked(const at::Tensor& weights, std::int64_t dim, const std::vector<std::int64_t>& indices,
                  const std::string& path, const char* what) {
  expect_within(path, what, indices, weights.size(dim));
  return weights.index_select(dim, at::tensor(indices, at::TensorOptions(at::kLong).device(weights.device())));
}

/// A variant of the core records the chosen rows alone; others record all of theirs.
at::Tensor chosen_rows(at::Tensor weights, const Layer& layer, const WeightChoice& rows) {
  const auto& path = layer.first;
  if (weights.dim() == 3) weights = weights.unsqueeze(1);  // a single head
  if (weights.dim() != 4) {
    throw InputError(path + ": its weights have shape " + shape_text(weights) +
                     ", expected (batch, heads, queries, keys)");
  }
  const auto left = [&](const std::vector<std::int64_t>& chosen, std::int64_t dim) {
    if (chosen.empty()) return false;
    return layer.second.effective == "own" || weights.size(dim) != static_cast<std::int64_t>(chosen.size());
  };
  if (left(rows.queries, 2)) weights = picked(weights, 2, rows.queries, path, "queries");
  if (left(rows.heads, 1)) weights = picked(weights, 1, rows.heads, path, "heads");
  return weights;
}

}  // namespace

void want_weights(Recorder& recorder, const model::Model& model, const Inputs& inputs, const WeightRequest& request) {
  recorder.want("weights");
  const auto chosen = chosen_layers(model, request.layers);
  for (const auto& attention : model.attentions()) {
    if (std::ranges::find(chosen, attention.path, &Layer::first) == chosen.end()) continue;
    recorder.want_path(attention.path);
    if (!attention.plan->claims.core) continue;  // what another records is looked at afterwards
    const auto& sequence = attention.in_encoder ? inputs.memory : inputs.x;
    expect_within(attention.path, "heads", request.rows.heads, attention.plan->dims.n_heads);
    if (sequence.defined() && sequence.dim() < 4)
      expect_within(attention.path, "queries", request.rows.queries, sequence.size(1));
  }
  recorder.choose_weights(request.rows);
}

tensor_io::Named recorded_weights(const Recorder& recorder, const model::Model& model, const WeightRequest& request) {
  tensor_io::Named found;
  for (const auto& layer : chosen_layers(model, request.layers)) {
    const auto note = std::ranges::find(recorder.notes(), layer.first, &Recorder::Note::path);
    if (note == recorder.notes().end()) {
      throw InputError(layer.first + ": this variant has no attention weights; name other layers with --layers");
    }
    found.emplace_back(layer.first, chosen_rows(note->value, layer, request.rows).contiguous());
  }
  if (found.empty()) throw InputError("the model has no attention layer, so there are no weights");
  return found;
}

}  // namespace headwright::run

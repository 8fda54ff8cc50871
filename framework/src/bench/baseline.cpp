#include "bench/baseline.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <limits>

#include "bind/attention_slots.h"
#include "core/kernels/kernel.h"
#include "support/text.h"

namespace headwright::bench {
namespace {

/// A row of the component by its name; the type's default where the variant has no such row.
template <class T>
T value(const Component& component, std::string_view name) {
  const auto found = std::ranges::find(component.values, name, &ParamMap::value_type::first);
  if (found == component.values.end()) return {};
  const auto* held = std::get_if<T>(&found->second.data);
  return held == nullptr ? T{} : *held;
}

/// A layer that computes its attention on the core.
struct CoreLayer : bind::AttentionSlot {
  std::shared_ptr<Attention> module;
};

/// The first of the model's own, else of an encoder.
std::optional<CoreLayer> first_on_the_core(const bind::Plan& plan, const model::Model& model) {
  const auto slots = bind::attention_slots(plan.model);
  auto found = std::ranges::find_if(slots, [](const auto& slot) { return slot.claims->core && !slot.in_encoder; });
  if (found == slots.end()) found = std::ranges::find_if(slots, [](const auto& slot) { return slot.claims->core; });
  if (found == slots.end()) return {};
  return CoreLayer{*found, model.attentions().at(static_cast<std::size_t>(found - slots.begin())).second};
}

/// The modifiers in their order; the position's bias before them or after them.
std::vector<ScoreModifier> modifiers_of(const CoreLayer& layer) {
  const auto& component = *layer.component;
  auto modifiers = value<std::vector<ScoreModifier>>(component, "modifiers");
  const auto children = layer.module->named_children();
  const auto* child = children.find("position");
  const auto position = child == nullptr ? nullptr : std::dynamic_pointer_cast<Position>(*child);
  const auto chosen = value<Component>(component, "position");
  if (!position || !chosen || !chosen.variant->claims(*layer.dims, chosen.values).bias) return modifiers;
  const bool last = value<std::string>(component, "bias_order") == "last";
  modifiers.insert(last ? modifiers.end() : modifiers.begin(), position->bias());
  return modifiers;
}

Scoring scoring_of(const CoreLayer& layer, const Inputs& inputs) {
  const auto& component = *layer.component;
  const bool of_x = !layer.in_encoder && !layer.claims->memory;
  Scoring scoring;
  scoring.mask = value<Mask>(component, "mask");
  scoring.modifiers = modifiers_of(layer);
  scoring.key_mask = of_x ? inputs.key_mask : inputs.memory_mask;
  if (of_x) scoring.document_ids = inputs.document_ids;
  scoring.same_sequence = !layer.claims->memory;
  scoring.kernel = layer.dims->kernel;
  if (const auto scale = value<double>(component, "scale"); scale > 0) scoring.scale = scale;
  if (value<std::string>(component, "qk_norm") == "l2") scoring.scale = 1;
  if (value<std::string>(component, "normaliser") == "softmax_one") scoring.normaliser = Normaliser::softmax_one;
  const auto parameters = layer.module->named_parameters(/*recurse=*/false);
  if (const auto* sink = parameters.find("sink")) scoring.sink = *sink;
  return scoring;
}

const at::Tensor* noted(const Recorder& recorder, std::string_view name) {
  const auto found = std::ranges::find(recorder.notes(), name, &Recorder::Note::name);
  return found == recorder.notes().end() ? nullptr : &found->value;
}

/// Scores by hand: keys repeated for the queries that share them.
at::Tensor repeated(const at::Tensor& x, const at::Tensor& q) {
  return x.size(1) == q.size(1) ? x : x.repeat_interleave(q.size(1) / x.size(1), 1);
}

/// What the direct calls know beforehand.
struct Prepared {
  at::Tensor hidden;  // bool, true = not visible; undefined = everything is visible
  bool empty_rows = false;
  ScorePositions place;
  double scale = 1;
};

at::Tensor dense(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const Scoring& scoring,
                 const Prepared& known) {
  auto scores = at::matmul(q, repeated(k, q).transpose(-2, -1)).mul(known.scale);  // (batch, n_heads, q_len, k_len)
  for (const auto& modifier : scoring.modifiers) scores = modifier.apply(scores, known.place);
  if (known.hidden.defined()) scores = scores.masked_fill(known.hidden, -std::numeric_limits<double>::infinity());
  const auto k_len = k.size(2);
  const bool one = scoring.normaliser == Normaliser::softmax_one;
  if (one || scoring.sink.defined()) {  // one more key, without a value
    const auto logit = one ? at::zeros({1}, scores.options()) : scoring.sink.to(scores.scalar_type());
    const auto column = logit.view({1, -1, 1, 1}).expand({scores.size(0), scores.size(1), scores.size(2), 1});
    scores = at::cat({scores, column}, -1);
  }
  auto weights = scores.softmax(-1).narrow(-1, 0, k_len);
  if (known.empty_rows) weights = weights.masked_fill(known.hidden, 0);
  return at::matmul(weights, repeated(v, q));
}

}  // namespace

std::vector<std::string> baseline_names() { return {"sdpa", "dense"}; }

double tolerance_of(at::ScalarType dtype) {
  if (dtype == at::kDouble) return 1e-9;
  if (dtype == at::kFloat) return 1e-4;
  return dtype == at::kHalf ? 1e-2 : 4e-2;
}

double relative_difference(const at::Tensor& got, const at::Tensor& expected) {
  if (expected.numel() == 0) return 0;
  const auto a = got.detach().to(at::kDouble), b = expected.detach().to(at::kDouble);
  return (a - b).abs().max().item<double>() / std::max(b.abs().max().item<double>(), 1e-30);
}

std::variant<CoreCall, Reason> first_core_call(const bind::Plan& plan, model::Model& model, const Inputs& inputs) {
  const auto layer = first_on_the_core(plan, model);
  if (!layer) return "no layer computes its attention on the core";
  CoreCall call{.layer = layer->path};
  Recorder recorder;
  for (const auto* name : {"q", "k", "v", "heads"}) recorder.want(name);
  recorder.want_path(call.layer);
  auto recorded = inputs;
  recorded.recorder = &recorder;
  const at::NoGradGuard no_grad;
  model.forward(recorded);
  const auto *q = noted(recorder, "q"), *k = noted(recorder, "k"), *v = noted(recorder, "v"),
             *y = noted(recorder, "heads");
  const auto& name = layer->component->variant->name;
  if (q == nullptr || k == nullptr || v == nullptr || y == nullptr) {
    return "'" + name + "' notes no q, k, v and heads, so it cannot be told what it asks of the core";
  }
  std::tie(call.q, call.k, call.v, call.y) = std::tie(*q, *k, *v, *y);
  call.scoring = scoring_of(*layer, inputs);
  const Reason other = "'" + name + "' does other work than its mask, modifiers, scale and sink say";
  try {
    const auto y_of_core = attend(call.q, call.k, call.v, call.scoring).y;
    if (y_of_core.sizes() != call.y.sizes()) return other;
    if (relative_difference(y_of_core, call.y) <= tolerance_of(call.y.scalar_type())) return call;
    return other;
  } catch (const ShapeError&) {  // q, k and v that the core does not take as they are
    return other;
  }
}

Work core_work(const CoreCall& call) {
  const auto leaf = [](const at::Tensor& x) { return x.detach().requires_grad_(); };
  const auto q = leaf(call.q), k = leaf(call.k), v = leaf(call.v);
  return {[q, k, v, scoring = call.scoring] { return attend(q, k, v, scoring).y; }, {q, k, v}};
}

std::variant<Work, Reason> direct_work(const std::string& baseline, const CoreCall& call) {
  const auto& scoring = call.scoring;
  const auto inputs = core::mask_inputs(call.q, call.k, scoring);
  const bool is_causal = scoring.mask.is_causal() && call.q.size(2) == call.k.size(2) && !scoring.key_mask.defined();
  const auto leaf = [](const at::Tensor& x) { return x.detach().requires_grad_(); };
  const auto q = leaf(call.q), k = leaf(call.k), v = leaf(call.v);
  const auto scale = core::scale_of(q, scoring);
  const auto visible = core::visible_keys(scoring, inputs);
  if (baseline == "sdpa") {
    const auto& kernels = core::kernels();
    const auto kernel = std::ranges::find_if(kernels, [](const auto& one) { return one->name() == "sdpa"; });
    if (const auto obstacle = (*kernel)->cannot(scoring)) return "scaled_dot_product_attention cannot " + *obstacle;
    const auto mask = is_causal || !visible.defined() ? std::optional<at::Tensor>() : visible.contiguous();
    const bool grouped = q.size(1) != k.size(1);
    return Work{[=] { return at::scaled_dot_product_attention(q, k, v, mask, 0, is_causal, scale, grouped); },
                {q, k, v}};
  }
  if (scoring.normaliser == Normaliser::sigmoid) return "dense is a softmax";
  Prepared known{.place = core::score_place(inputs, scoring), .scale = scale};
  if (visible.defined()) {
    known.hidden = visible.logical_not();
    known.empty_rows = known.hidden.all(-1).any().item<bool>();
  }
  return Work{[=] { return dense(q, k, v, scoring, known); }, {q, k, v}};
}

}  // namespace headwright::bench

// Records the call that a layer makes to the core, and repeats it with SDPA or by hand.
#include "bench/baseline.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <limits>

#include "bind/walk.h"
#include "core/kernels/kernel.h"
#include "support/text.h"

namespace headwright::bench {
namespace {

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
  auto places = bind::walk_attentions(plan.model);
  std::erase_if(places, [](const auto& place) { return !place.claims->core; });
  if (places.empty()) return "no layer computes its attention on the core";
  // The first of the model's own, else of an encoder
  const auto own = std::ranges::find(places, false, &bind::Place::in_encoder);
  const auto& place = own == places.end() ? places.front() : *own;
  Recorder recorder;
  recorder.want_calls();
  recorder.want_path(place.path);
  auto recorded = inputs;
  recorded.recorder = &recorder;
  const at::NoGradGuard no_grad;
  model.forward(recorded);
  const auto& calls = recorder.calls();
  if (calls.size() != 1) {
    return "the scores of '" + place.component->variant->name +
           "' come from no one call of the core, so there is nothing to compare with";
  }
  const auto& asked = calls.front();
  return CoreCall{
      .layer = place.path, .q = asked.q, .k = asked.k, .v = asked.v, .scoring = asked.scoring, .y = asked.result.y};
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

// Lessons 3.4: queries, keys and values by learned weight parameters.
#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

#include <cmath>

#include "headwright/attend.h"
#include "lessons/lesson_scripts.h"

namespace headwright::lessons {
namespace {

const std::vector<std::string> kMatrices{"W_query", "W_key", "W_value"};

void show_parameters(Lab& lab, const Experiment& experiment, const std::string& suffix) {
  for (const auto& name : kMatrices) {
    lab.show(name, "weight parameters, learned; drawn at random here", experiment.tensor(name + suffix));
  }
}

void expect_attention(Lab& lab, const Experiment& experiment) {
  const auto& x = experiment.inputs.x;
  const auto d_out = experiment.d_out();
  lab.expect(check_shape("queries are d_out wide", experiment.noted("queries"), {x.size(0), x.size(1), d_out}));
  lab.expect(check_close("scores are divided by the square root of the key width", experiment.noted("scaled_scores"),
                         experiment.noted("scores") / std::sqrt(static_cast<double>(d_out))));
  lab.expect(check_rows_sum_to_one("each row of attention weights sums to 1", experiment.noted("weights")));
}

/// Mean entropy of the attention weights of 1,000 random queries over 16 random keys, 64 wide.
at::Tensor entropy(double scale) {
  auto generator = at::detail::createCPUGenerator(0);
  const auto q = at::randn({1, 1, 1000, 64}, generator, at::TensorOptions(at::kFloat));
  const auto k = at::randn({1, 1, 16, 64}, generator, at::TensorOptions(at::kFloat));
  const auto weights = attention_weights(q, k, {.scale = scale});
  return -(weights * weights.clamp_min(1e-12).log()).sum(-1).mean();
}

void show_why_scores_are_scaled(Lab& lab) {
  const auto unscaled = entropy(1), scaled = entropy(1.0 / 8), uniform = at::full({}, std::log(16.0));
  lab.show("entropy_unscaled", "spread of one query over 16 keys of width 64, without scaling: almost one key",
           unscaled);
  lab.show("entropy_scaled", "the same with scores / sqrt(64)", scaled);
  lab.show("entropy_uniform", "all 16 keys alike: ln 16", uniform);
  lab.expect(check_figures("entropy without and with scaling, and at most, at width 64",
                           at::stack({unscaled, scaled, uniform}), {.4375, 2.3805, 2.7726}));
}

void matrices(Lab& lab) {
  auto v1 = lab.run();
  expect_tokens(v1.inputs.x, 2);
  lab.show("inputs", "the sentence: one row of features for each token", v1.inputs.x);
  show_parameters(lab, v1, "");
  lab.show_notes(v1);
  lab.expect_figures("context of token 2", v1.y[0][1], {.3061, .8210});
  expect_attention(lab, v1);
  lab.expect({"three weight parameters, which the attention weights are not", v1.attention().parameters().size() == 3,
              std::to_string(v1.attention().parameters().size()) + " tensors are learned"});
  const auto weights = v1.noted("weights");
  v1.run(v1.inputs.x.roll(1, 1) * 2);
  lab.expect(check_differs("another input has other attention weights by the same weight parameters",
                           v1.noted("weights"), weights));
  show_why_scores_are_scaled(lab);
}

/// self_attention_v1 with the transposed weight parameters of a self_attention_v2.
Experiment v1_with_weights_of(const Lab& lab, const Experiment& v2) {
  auto v1 = lab.run_beside(
      "self_attention_v1",
      {model_key("d_model", v2.dims().d_model), attention_param("d_out", std::to_string(v2.d_out()))}, v2.inputs);
  for (auto& matrix : v1.attention().named_parameters()) {
    matrix.value().set_data(v2.tensor(matrix.key() + ".weight").t().detach());  // (d_out, d_model) -> (d_model, d_out)
  }
  v1.run(v2.inputs.x);
  return v1;
}

void linears(Lab& lab) {
  const auto v2 = lab.run();
  expect_tokens(v2.inputs.x, 1);
  lab.show("inputs", "the sentence: one row of features for each token", v2.inputs.x);
  show_parameters(lab, v2, ".weight");
  lab.show_notes(v2);
  lab.expect_figures("context of token 1", v2.y[0][0], {-.0739, .0713});
  expect_attention(lab, v2);
  const auto v1 = v1_with_weights_of(lab, v2);
  lab.show("context_of_v1", "self_attention_v1 with the same weight parameters, transposed", v1.y);
  lab.expect(check_same_bits("v1 with the transposed weights of v2 equals v2 bit for bit", v1.y, v2.y));
  const auto bound = 1 / std::sqrt(static_cast<double>(v2.dims().d_model));
  const auto largest = v2.tensor("W_query.weight").abs().max().item<double>();
  lab.expect({"Linear draws around zero, within 1 / sqrt(d_model)", largest <= bound,
              "largest of W_query " + figure(largest) + ", bound " + figure(bound)});
}

}  // namespace

std::vector<LessonScript> lessons_with_parameters() {
  return {
      {{"3.4.1", "queries, keys and values by three matrices", "self_attention_v1"}, matrices},
      {{"3.4.2", "the same by linear layers", "self_attention_v2"}, linears},
  };
}

}  // namespace headwright::lessons

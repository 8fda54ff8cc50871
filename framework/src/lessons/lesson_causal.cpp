// Lessons 3.5: hiding the future, dropout, and the two in one variant.
#include <ATen/ATen.h>
#include <torch/nn/modules/dropout.h>

#include "headwright/attend.h"
#include "headwright/errors.h"
#include "lessons/lesson_scripts.h"

namespace headwright::lessons {
namespace {

/// causal_attention with the weight parameters of a self_attention_v2.
Experiment causal_with_weights_of(const Lab& lab, const Experiment& v2) {
  const bool biased = v2.attention().named_parameters().contains("W_query.bias");
  auto causal = lab.run_beside(
      "causal_attention",
      {model_key("d_model", v2.dims().d_model), model_key("context_length", v2.inputs.x.size(1)),
       attention_param("d_out", std::to_string(v2.d_out())), attention_param("qkv_bias", biased ? "true" : "false")},
      v2.inputs);
  for (auto& parameter : causal.attention().named_parameters()) {
    parameter.value().set_data(v2.tensor(parameter.key()).detach());
  }
  causal.run(v2.inputs.x);
  return causal;
}

/// First way: the weights of all tokens, those of the future set to zero, the rest divided by their sum.
at::Tensor renormalised(const Experiment& v2) {
  const auto past = v2.noted("weights").tril();
  return past / past.sum(-1, true);
}

/// The same input with another last token.
at::Tensor with_other_end(const at::Tensor& x) {
  const auto last = x.narrow(1, x.size(1) - 1, 1);
  return at::cat({x.narrow(1, 0, x.size(1) - 1), last * -3 + 5}, 1);
}

void compare_after_other_end(Lab& lab, Experiment& v2, Experiment& causal) {
  const auto earlier = [](const at::Tensor& weights) { return weights.narrow(-2, 0, weights.size(-2) - 1); };
  const auto before = earlier(renormalised(v2)), masked_before = earlier(causal.noted("weights"));
  const auto all_before = earlier(v2.noted("weights"));
  const auto x = with_other_end(v2.inputs.x);
  v2.run(x);
  causal.run(x);
  lab.expect(check_differs("another last token changes the unmasked weights of earlier tokens",
                           earlier(v2.noted("weights")), all_before));
  lab.expect(check_close("but not the renormalised ones, although it took part in the first sum",
                         earlier(renormalised(v2)), before));
  lab.expect(check_same_bits("nor, bit for bit, those masked before softmax", earlier(causal.noted("weights")),
                             masked_before));
}

void two_masks(Lab& lab) {
  auto v2 = lab.run();
  expect_tokens(v2.inputs.x, 2);
  auto causal = causal_with_weights_of(lab, v2);
  const auto weights = v2.noted("weights"), one_way = renormalised(v2), other_way = causal.noted("weights");
  lab.show("weights", "attention weights with the future visible", weights);
  lab.show("mask", "1 = the query may see the key", at::ones_like(weights[0]).tril());
  lab.show("masked_weights", "weights times mask: rows no longer sum to 1", weights.tril());
  lab.show("renormalised", "first way: each row divided by what is left of it", one_way);
  lab.show("masked_scores", "second way: -inf where the key comes after the query", causal.noted("masked_scores"));
  lab.show("masked_before_softmax", "softmax of the masked scores", other_way);

  lab.expect_figures("weights of token 2", other_way[0][1], {.5517, .4483, 0, 0, 0, 0});
  lab.expect(check_close("both ways are equal", one_way, other_way));
  lab.expect(check_rows_sum_to_one("each row sums to 1 (renormalised)", one_way));
  lab.expect(check_rows_sum_to_one("each row sums to 1 (masked before softmax)", other_way));
  lab.expect(check_no_weight_on_the_future("the upper triangle is 0 (renormalised)", one_way));
  lab.expect(check_no_weight_on_the_future("the upper triangle is 0 (masked before softmax)", other_way));

  const auto scores = causal.noted("scaled_scores");
  const auto hidden_self = masked_softmax(scores, at::ones_like(scores, at::kBool).tril(-1));
  lab.show("weights_with_diagonal_0", "the trap triu(diagonal=0): a token hides from itself, the first sees nothing",
           hidden_self);
  lab.expect(check_elements_among("with diagonal 0 no token sees itself", hidden_self.diagonal(0, -2, -1), {0}));
  lab.expect(check_differs("and the weights are others", hidden_self, other_way));
  compare_after_other_end(lab, v2, causal);
}

void dropout(Lab& lab) {
  auto half = lab.run({attention_param("dropout", "0.5")});
  expect_tokens(half.inputs.x, 1);
  const auto children = half.attention().named_children();
  const auto* child = children.find("dropout");
  auto* layer = child == nullptr ? nullptr : (*child)->as<torch::nn::Dropout>();
  if (layer == nullptr) throw InputError("the lesson needs an attention with a child called 'dropout'");
  lab.show("weights", "attention weights", half.noted("weights"));

  const auto ones = at::ones({6, 6});
  layer->train();
  const auto first = layer->forward(ones), second = layer->forward(ones);
  lab.show("dropped_ones", "dropout(ones, 0.5) in training: survivors are doubled, so that the sum stays on average",
           first);
  lab.show("dropped_weights", "attention weights after dropout", layer->forward(half.noted("weights")));
  lab.expect(check_elements_among("every element of dropout(ones, 0.5) is 0 or 2", first, {0, 2}));
  lab.expect(check_differs("a second pass in training drops others", first, second));
  layer->eval();
  lab.expect(check_same_bits("in eval nothing is dropped", layer->forward(ones), ones));
  const auto y = half.y;
  half.run(half.inputs.x);
  lab.expect(check_same_bits("in eval the output repeats bit for bit", half.y, y));
  lab.expect(check_same_bits("and equals that without dropout", lab.run({attention_param("dropout", "0")}).y, y));
}

void expect_mask_is_a_buffer(Lab& lab, Attention& attention) {
  const bool buffer = attention.named_buffers().contains("mask");
  const bool parameter = attention.named_parameters().contains("mask");
  lab.expect({"the mask is a buffer and not a parameter", buffer && !parameter,
              std::to_string(attention.parameters().size()) + " parameters, " +
                  std::to_string(attention.buffers().size()) + " buffer"});
  if (!buffer) return;
  attention.to(at::kDouble);  // every machine has this move; one to a device goes the same way
  const auto dtype = attention.named_buffers()["mask"].dtype().name();
  lab.expect({"the mask moves with the module", dtype == at::scalarTypeToTypeMeta(at::kDouble).name(),
              "cast the module to float64, the mask is now " + std::string(dtype)});
}

void causal_batches(Lab& lab) {
  auto causal = lab.run();
  const auto x = causal.inputs.x;
  expect_tokens(x, 2);
  const auto y = causal.y;
  lab.show("inputs", "a batch of sentences", x);
  lab.show("mask", "1 = hidden, stored at context_length", causal.tensor("mask"));
  lab.show_notes(causal);
  lab.expect_figures("context of token 1", y[0][0], {-.4519, .2216});
  lab.expect(check_shape("a batch goes through at once", y, {x.size(0), x.size(1), causal.d_out()}));
  lab.expect(check_rows_sum_to_one("each row of weights sums to 1", causal.noted("weights")));
  lab.expect(check_no_weight_on_the_future("the upper triangle is 0", causal.noted("weights")));
  for (std::int64_t b = 1; b < x.size(0); ++b) {
    causal.run(x.narrow(0, b, 1));
    lab.expect(check_close("sequence " + std::to_string(b + 1) + " alone gives the same", causal.y, y.narrow(0, b, 1)));
  }
  const auto shorter = x.size(1) - 1;
  causal.run(x.narrow(1, 0, shorter));
  lab.expect(check_close("the mask is cut to a shorter input", causal.y, y.narrow(1, 0, shorter)));
  lab.expect(check_refused("an input longer than the stored mask is refused",
                           [&] { causal.run(x.repeat({1, causal.dims().context_length + 1, 1})); }));
  expect_mask_is_a_buffer(lab, causal.attention());
}

}  // namespace

std::vector<LessonScript> lessons_on_causality() {
  return {
      {{"3.5.1", "a causal mask, two ways", "self_attention_v2"}, two_masks},
      {{"3.5.2", "dropout on the attention weights", "causal_attention"}, dropout},
      {{"3.5.3", "causal attention for batches", "causal_attention"}, causal_batches},
  };
}

}  // namespace headwright::lessons

// Lessons 3.6: several heads.
#include <ATen/ATen.h>

#include <cmath>

#include "headwright/attend.h"
#include "headwright/shapes.h"
#include "lessons/lesson_scripts.h"

namespace headwright::lessons {
namespace {

void wrapped_heads(Lab& lab) {
  const auto wrapper = lab.run();
  const auto& x = wrapper.inputs.x;
  expect_tokens(x, 1);
  const auto n_heads = wrapper.dims().n_heads;
  const auto width = wrapper.d_out() / n_heads;
  lab.show("inputs", "a batch of sentences", x);
  lab.show_notes(wrapper);
  lab.expect_figures("context of token 1", wrapper.y[0][0], {-.4519, .2216, .4772, .1063});
  lab.expect(check_shape("the heads stand side by side: n_heads times the width of one", wrapper.y,
                         {x.size(0), x.size(1), n_heads * width}));

  auto alone = lab.run_beside("causal_attention",
                              {model_key("d_model", wrapper.dims().d_model), model_key("context_length", x.size(1)),
                               attention_param("d_out", std::to_string(width))},
                              wrapper.inputs);
  for (std::int64_t h = 0; h < n_heads; ++h) {
    for (auto& parameter : alone.attention().named_parameters()) {
      const auto name = "heads." + std::to_string(h) + "." + parameter.key();
      parameter.value().set_data(wrapper.tensor(name).detach());
    }
    alone.run(x);
    lab.expect(check_close("head " + std::to_string(h) + " is a causal_attention of its own", alone.y,
                           wrapper.y.narrow(-1, h * width, width)));
  }
  const auto narrow = lab.run({attention_param("d_out", "1")});
  lab.show("context_of_width_1", "exercise 3.2: d_out 1 for each head", narrow.y);
  lab.expect(
      check_shape("exercise 3.2: two features from heads of width 1", narrow.y, {x.size(0), x.size(1), n_heads}));
}

/// Scores divided by the square root of all heads' width instead of one head's.
void scale_by_the_wrong_width(Lab& lab, const Experiment& heads) {
  const auto scores = heads.noted("scores");
  const auto d_head = static_cast<double>(heads.d_out() / heads.dims().n_heads);
  const auto visible = heads.noted("weights") > 0;
  lab.expect(
      check_close("scores are divided by sqrt(d_head)", heads.noted("scaled_scores"), scores / std::sqrt(d_head)));
  const auto wrong = masked_softmax(scores / std::sqrt(static_cast<double>(heads.d_out())), visible);
  lab.show("weights_scaled_by_d_out", "the trap: scores / sqrt(d_out) instead of sqrt(d_head)", wrong);
  lab.expect(check_differs("dividing by sqrt(d_out) gives other weights", wrong, heads.noted("weights")));
}

/// On wide heads: those of width 1 can be merged by view in any layout.
void expect_merge_through_contiguous_memory(Lab& lab, const Experiment& heads) {
  const auto queries = heads.noted("queries");      // (batch, n_heads, seq, d_head)
  const auto transposed = queries.transpose(1, 2);  // (batch, seq, n_heads, d_head)
  const auto merge = [&](const at::Tensor& x) { return x.view({x.size(0), x.size(1), heads.d_out()}); };
  lab.expect(check_refused("view after transpose fails without contiguous",
                           [&] { merge(queries.contiguous().transpose(1, 2)); }));
  lab.expect(
      check_close("view after contiguous merges the heads", merge(transposed.contiguous()), merge_heads(queries)));
}

void leave_out_the_projection(Lab& lab, const Experiment& heads) {
  const auto without = lab.run({attention_param("out_proj", "false")});
  lab.show("context_without_out_proj", "the same layer without its output projection", without.y);
  lab.expect(check_shape("without out_proj the shape stays", without.y, heads.y.sizes().vec()));
  lab.expect(check_differs("without out_proj the values change", without.y, heads.y));
  lab.expect(check_close("what is left is the heads side by side", without.y, heads.noted("concatenated")));
}

/// Exercise 3.3 and its neighbours: the sizes of GPT-2.
void expect_gpt2_sizes(Lab& lab) {
  const auto heads_of = [&](const std::vector<std::string>& changes) {
    return lab.run_beside("multi_head_attention_768", changes);
  };
  const auto d_head_of = [](const Experiment& experiment) { return experiment.noted("queries").size(-1); };
  const auto expect_d_head = [&](const std::string& what, std::int64_t got, std::int64_t expected) {
    lab.expect({what + ": d_head " + std::to_string(expected), got == expected, "got " + std::to_string(got)});
  };
  const auto small = heads_of({});
  expect_merge_through_contiguous_memory(lab, small);
  lab.expect(check_shape("exercise 3.3: 768 wide, 12 heads", small.y, {2, 8, 768}));
  const auto tensors = small.attention().parameters().size();
  lab.expect({"exercise 3.3: 5 parameter tensors", tensors == 5, "got " + std::to_string(tensors)});
  expect_d_head("768 wide, 12 heads, the smallest GPT-2", d_head_of(small), 64);
  expect_d_head("768 wide, 8 heads", d_head_of(heads_of({model_key("n_heads", 8)})), 96);
  expect_d_head("768 wide, 16 heads", d_head_of(heads_of({model_key("n_heads", 16)})), 48);
  expect_d_head(
      "1600 wide, 25 heads, the largest GPT-2",
      d_head_of(heads_of({model_key("n_heads", 25), model_key("d_model", 1600), "input.random.shape=[1, 4, 1600]"})),
      64);
  lab.expect(check_refused("768 wide, 7 heads is refused", [&] { heads_of({model_key("n_heads", 7)}); }));
}

void split_heads_of_one_projection(Lab& lab) {
  const auto heads = lab.run();
  const auto& x = heads.inputs.x;
  expect_tokens(x, 2);
  const auto n_heads = heads.dims().n_heads;
  lab.show("inputs", "a batch of sentences", x);
  lab.show_notes(heads);
  lab.expect_figures("context of token 1", heads.y[0][0], {.3190, .4858});
  lab.expect(check_shape("all heads together are d_out wide", heads.y, {x.size(0), x.size(1), heads.d_out()}));
  lab.expect(check_shape("each head has its own queries of width d_out / n_heads", heads.noted("queries"),
                         {x.size(0), n_heads, x.size(1), heads.d_out() / n_heads}));
  lab.expect(check_rows_sum_to_one("each row of weights sums to 1, in every head", heads.noted("weights")));
  lab.expect(check_no_weight_on_the_future("the upper triangle is 0", heads.noted("weights")));
  scale_by_the_wrong_width(lab, heads);
  leave_out_the_projection(lab, heads);
  expect_gpt2_sizes(lab);
}

}  // namespace

std::vector<LessonScript> lessons_on_heads() {
  return {
      {{"3.6.1", "several heads, one after the other", "multi_head_wrapper"}, wrapped_heads},
      {{"3.6.2", "several heads from one projection", "multi_head_attention"}, split_heads_of_one_projection},
  };
}

}  // namespace headwright::lessons

// The article's example: three words on their way through an embedding and an attention.
#include <ATen/ATen.h>

#include "headwright/attend.h"
#include "headwright/errors.h"
#include "lessons/lesson_scripts.h"

namespace headwright::lessons {
namespace {

at::Tensor embedded(const Experiment& words) {
  if (!words.model->embedding) throw InputError("the lesson needs a model with an embedding");
  const at::NoGradGuard no_grad;
  return words.model->embedding->forward({.x = words.inputs.x});  // (batch, seq, d_model)
}

void show_words(Lab& lab, const Experiment& words) {
  expect_tokens(words.inputs.x, 1);
  lab.show("tokens", "the words as numbers: cat sat mat", words.inputs.x);
  lab.show("embedding", "a row of features for each word", embedded(words));
  lab.show_notes(words, {{"context", "output"}});
}

void expect_no_order(Lab& lab, Experiment& words) {
  const auto y = words.y;
  words.run(words.inputs.x.flip(1));
  lab.expect(check_close("without positions, reversing the words only reverses the output", words.y, y.flip(1)));
}

void one_head(Lab& lab) {
  auto words = lab.run();
  show_words(lab, words);
  lab.expect_figures("weights of cat", words.noted("weights")[0][0], {.4577, .1407, .4016});
  lab.expect_figures("output of cat", words.y[0][0], {.4585, -.3801, .0631, .2362});
  lab.expect(check_rows_sum_to_one("each row of weights sums to 1", words.noted("weights")));
  const auto worked = masked_softmax(at::tensor({8.2f, 5.1f, 7.9f}), {});
  lab.show("worked_softmax", "softmax of 8.2, 5.1, 7.9, which the article prints as .52 .01 .47", worked);
  lab.expect(check_figures("softmax of 8.2, 5.1, 7.9", worked, {.5600, .0252, .4148}));
  expect_no_order(lab, words);
}

void two_heads(Lab& lab) {
  auto words = lab.run();
  show_words(lab, words);
  const auto seq_len = words.inputs.x.size(1);
  lab.expect_figures("weights of cat in the first head", words.noted("weights")[0][0][0], {.2923, .2210, .4867});
  lab.expect(check_shape("each head has its own weights", words.noted("weights"),
                         {words.inputs.x.size(0), words.dims().n_heads, seq_len, seq_len}));
  lab.expect(check_rows_sum_to_one("each row of weights sums to 1, in every head", words.noted("weights")));
  lab.expect(check_differs("two heads look at different words", words.noted("weights").select(1, 0),
                           words.noted("weights").select(1, words.dims().n_heads - 1)));
  expect_no_order(lab, words);
}

}  // namespace

std::vector<LessonScript> lessons_on_words() {
  return {
      {{"cat_sat_mat", "three words, one head", "cat_sat_mat"}, one_head},
      {{"cat_sat_mat_two_heads", "three words, two heads", "cat_sat_mat_two_heads"}, two_heads},
  };
}

}  // namespace headwright::lessons

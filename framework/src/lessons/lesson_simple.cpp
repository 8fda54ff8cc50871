// Lessons 3.3: attention without weight parameters.
#include <ATen/ATen.h>

#include "headwright/attend.h"
#include "lessons/lesson_scripts.h"

namespace headwright::lessons {
namespace {

constexpr std::int64_t kToken = 1;  // the second, "journey"

at::Tensor of_token(const at::Tensor& tensor) { return tensor[0][kToken]; }

void show_one_token(Lab& lab, const Experiment& loop) {
  const auto scores = of_token(loop.noted("scores"));  // (seq)
  lab.show("query", "token 2, which asks", of_token(loop.inputs.x));
  lab.show("scores_of_token_2", "its dot product with each token, by a loop", scores);
  lab.show("shares_of_token_2", "scores divided by their sum", scores / scores.sum());
  lab.show("weights_of_token_2", "scores through softmax", of_token(loop.noted("weights")));
  lab.show("context_of_token_2", "all tokens, each times its weight, summed by a loop",
           of_token(loop.noted("context")));
}

void compare_with_plain_division(Lab& lab, const at::Tensor& scores) {
  const auto shares = [](const at::Tensor& s) { return s / s.sum(); };
  const auto softmax = [](const at::Tensor& s) { return masked_softmax(s, {}); };
  lab.expect(check_rows_sum_to_one("plain division sums to 1 too", shares(scores)));
  lab.expect(check_differs("softmax gives other weights than plain division", softmax(scores), shares(scores)));
  lab.expect(check_close("softmax does not care if 2 is taken off every score", softmax(scores - 2), softmax(scores)));
  lab.expect(check_differs("plain division does", shares(scores - 2), shares(scores)));
}

void one_token(Lab& lab) {
  const auto matrix = lab.run();
  const auto loop = lab.run({attention_param("form", "loop")});
  expect_tokens(matrix.inputs.x, kToken + 1);
  lab.show("inputs", "the sentence: one row of features for each token", matrix.inputs.x);
  show_one_token(lab, loop);
  lab.show_notes(matrix);

  lab.expect_figures("scores of token 2", of_token(loop.noted("scores")),
                     {.9544, 1.4950, 1.4754, .8434, .7070, 1.0865});
  lab.expect_figures("weights of token 2", of_token(loop.noted("weights")), {.1385, .2379, .2333, .1240, .1082, .1581});
  lab.expect_figures("context of token 2", of_token(loop.noted("context")), {.4419, .6515, .5683});
  for (const auto* step : {"scores", "weights", "context"}) {
    lab.expect(check_close(std::string(step) + ": the loop form equals the matrix form", loop.noted(step),
                           matrix.noted(step)));
  }
  lab.expect(check_rows_sum_to_one("each row of weights sums to 1", matrix.noted("weights")));
  compare_with_plain_division(lab, of_token(loop.noted("scores")));
}

void all_tokens(Lab& lab) {
  const auto matrix = lab.run();
  const auto& x = matrix.inputs.x;
  expect_tokens(x, 1);
  const auto scores = matrix.noted("scores"), weights = matrix.noted("weights");
  lab.show("inputs", "the sentence: one row of features for each token", x);
  lab.show_notes(matrix);

  lab.expect_figures("weights of token 1", weights[0][0], {.2098, .2006, .1981, .1242, .1220, .1452});
  lab.expect_figures("context of token 1", matrix.y[0][0], {.4421, .5931, .5790});
  lab.expect(check_shape("a weight for each pair of tokens", weights, {x.size(0), x.size(1), x.size(1)}));
  lab.expect(check_rows_sum_to_one("each row of weights sums to 1", weights));
  lab.expect(check_close("without weight parameters scores are symmetric", scores, scores.transpose(-2, -1)));
  lab.expect(check_close("each context is the weighted sum of all tokens", matrix.y, weights.matmul(x)));
}

}  // namespace

std::vector<LessonScript> lessons_without_parameters() {
  return {
      {{"3.3.1", "attention of one token, by loops and by matrix products", "simple_self_attention"}, one_token},
      {{"3.3.2", "attention of all tokens at once", "simple_self_attention"}, all_tokens},
  };
}

}  // namespace headwright::lessons

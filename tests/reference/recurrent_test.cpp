// The recurrent baselines against their formulas, one number after the other.
#include "reference/document_checks.h"

namespace {

using headwright::Value;
using loops::Row;
using loops::Rows;

double sigmoid(double a) { return 1 / (1 + std::exp(-a)); }

/// W_ih x + b_ih + W_hh h + b_hh
Row sums(const torch::nn::Module& module, const Row& x, const Row& h) {
  const auto bias = [&](const std::string& name) {
    return module.named_parameters().contains(name) ? loops::parameter(module, name)[0] : Row{};
  };
  auto sum = loops::linear({x}, loops::parameter(module, "weight_ih"), bias("bias_ih"))[0];
  const auto of_state = loops::linear({h}, loops::parameter(module, "weight_hh"), bias("bias_hh"))[0];
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += of_state[i];
  return sum;
}

Rows rnn(const torch::nn::Module& module, const Rows& x, const std::vector<bool>& visible) {
  Row h(loops::parameter(module, "weight_hh")[0].size(), 0.0);
  Rows y;
  for (std::size_t t = 0; t < x.size(); ++t) {
    if (visible[t]) {
      h = sums(module, x[t], h);
      for (auto& value : h) value = std::tanh(value);
    }
    y.push_back(h);
  }
  return y;
}

Rows lstm(const torch::nn::Module& module, const Rows& x, const std::vector<bool>& visible) {
  const auto width = loops::parameter(module, "weight_hh")[0].size();
  Row h(width, 0.0), c(width, 0.0);
  Rows y;
  for (std::size_t t = 0; t < x.size(); ++t) {
    if (visible[t]) {
      const auto gates = sums(module, x[t], h);  // i, f, g, o
      for (std::size_t d = 0; d < width; ++d) {
        c[d] = sigmoid(gates[width + d]) * c[d] + sigmoid(gates[d]) * std::tanh(gates[2 * width + d]);
        h[d] = sigmoid(gates[3 * width + d]) * std::tanh(c[d]);
      }
    }
    y.push_back(h);
  }
  return y;
}

loops::Subject subject(const std::string& variant) {
  return {.variant = variant, .dims = {.d_model = 5}, .layer = variant == "rnn" ? rnn : lstm};
}

class Recurrent : public testing::TestWithParam<std::string> {
 protected:
  const loops::Subject plain_ = subject(GetParam());
  loops::Subject other_ = subject(GetParam());  // another width, no bias
  Recurrent() { other_.params = {{"d_out", Value{std::int64_t{3}}}, {"bias", Value{false}}}; }
};

TEST_P(Recurrent, EqualsLoopsAtOddLengthsAndLeavesTheStateAtHiddenTokens) {
  loops::expect_outputs_as_by_loops(plain_);
  loops::expect_outputs_as_by_loops(other_);
}

TEST_P(Recurrent, HasTheGradientOfTheLoops) {
  loops::expect_gradients_as_by_loops(plain_);
  loops::expect_gradients_as_by_loops(other_);
}

TEST_P(Recurrent, EqualsLoopsInEveryDtype) { loops::expect_every_dtype_as_by_loops(plain_); }

TEST_P(Recurrent, InPiecesFromACacheEqualsTheWhole) {
  loops::expect_pieces_as_the_whole(plain_);
  loops::expect_pieces_as_the_whole(other_);
}

TEST_P(Recurrent, EachDocumentBeginsAtZero) {
  loops::expect_documents_apart(plain_);
  loops::expect_documents_apart(other_);
  loops::expect_gradients_of_each_document_alone(plain_);
}

TEST_P(Recurrent, MakesNothingOfNothing) {
  loops::expect_nothing_from_nothing(plain_);
  loops::expect_nothing_from_nothing(other_);
}

TEST_P(Recurrent, ExportedEqualsRunning) { loops::expect_exported_as_running("attention/" + GetParam() + ".yaml"); }

TEST_P(Recurrent, ATokenThatIsHiddenNeverReachesTheState) {
  const auto module = plain_.make();
  auto x = at::randn({1, 7, 5}, at::kDouble);
  x.select(1, 2).fill_(NAN);
  const auto mask = at::arange(7).ne(2).unsqueeze(0);
  EXPECT_TRUE(module->forward({.x = x, .key_mask = mask}).isfinite().all().item<bool>());
  auto cache = module->make_cache(1, 7);
  EXPECT_TRUE(module->forward({.x = x, .key_mask = mask, .cache = &cache}).isfinite().all().item<bool>());
}

TEST_P(Recurrent, RefusesAMaskThatForgetsTheTokensInTheCache) {
  const auto module = plain_.make();
  auto cache = module->make_cache(1, 7);
  const auto x = at::randn({1, 3, 5}, at::kDouble);
  module->forward({.x = x, .cache = &cache});
  EXPECT_THROW(module->forward({.x = x, .key_mask = at::ones({1, 3}, at::kBool), .cache = &cache}),
               headwright::ShapeError);
}

TEST_P(Recurrent, HasTheNamesAndShapesOfTorchsCells) {
  const std::int64_t gates = GetParam() == "lstm" ? 4 : 1;
  const auto parameters = plain_.make()->named_parameters();
  ASSERT_EQ(parameters.size(), 4U);
  EXPECT_EQ(parameters["weight_ih"].sizes(), (std::vector<std::int64_t>{5 * gates, 5}));
  EXPECT_EQ(parameters["weight_hh"].sizes(), (std::vector<std::int64_t>{5 * gates, 5}));
  EXPECT_EQ(parameters["bias_ih"].sizes(), (std::vector<std::int64_t>{5 * gates}));
  EXPECT_EQ(parameters["bias_hh"].sizes(), (std::vector<std::int64_t>{5 * gates}));
  EXPECT_EQ(other_.make()->parameters().size(), 2U);
}

INSTANTIATE_TEST_SUITE_P(Variants, Recurrent, testing::Values("rnn", "lstm"),
                         [](const auto& variant) { return variant.param; });

}  // namespace

// The input section becomes tensors.
#include <ATen/ATen.h>
#include <gmock/gmock.h>

#include "helpers/configs.h"
#include "helpers/temporary_folder.h"
#include "run/forward.h"
#include "tensor_io/tensor_io.h"

namespace headwright::run {
namespace {

constexpr auto kLayer = R"(name: layer
model: { d_model: 4, n_heads: 2, context_length: 8, blocks: { only: { order: plain, attention: softmax } } }
)";

constexpr auto kTokens = R"(name: tokens
model:
  d_model: 4
  embedding: { vocab_size: 10 }
  blocks: { only: { order: plain, feed_forward: relu } }
)";

std::string message_of(const bind::Plan& plan) {
  return test::message_of<InputError>([&] { make_inputs(plan); });
}

TEST(MakeInputs, TakesInlineValues) {
  const auto inputs = make_inputs(test::plan_of(kLayer, {"input.values=[[[1, 2, 3, 4.5]]]"}));
  EXPECT_TRUE(at::equal(inputs.x, at::tensor({1.0, 2.0, 3.0, 4.5}, at::kFloat).view({1, 1, 4})));
}

TEST(MakeInputs, RandomOnesDependOnTheSeedAlone) {
  const auto draw = [](const char* seed) {
    return make_inputs(test::plan_of(kLayer, {"input.random={shape: [2, 3, 4], seed: " + std::string(seed) + "}"})).x;
  };
  EXPECT_TRUE(at::equal(draw("1"), draw("1")));
  EXPECT_FALSE(at::equal(draw("1"), draw("2")));
  const auto ids = make_inputs(test::plan_of(kTokens, {"input.random={shape: [20, 20]}"})).x;
  EXPECT_EQ(ids.scalar_type(), at::kLong);
  EXPECT_EQ(ids.min().item<std::int64_t>(), 0);
  EXPECT_EQ(ids.max().item<std::int64_t>(), 9);
}

TEST(MakeInputs, MakesAMaskOfLengths) {
  const auto inputs = make_inputs(test::plan_of(kLayer, {"input.random={shape: [2, 3, 4]}", "input.lengths=[3, 1]"}));
  EXPECT_TRUE(at::equal(inputs.key_mask, at::tensor({1, 1, 1, 1, 0, 0}).view({2, 3}).to(at::kBool)));
}

using MakeInputsFromFile = test::TemporaryFolder;

TEST_F(MakeInputsFromFile, ChecksItAgainstTheModel) {
  const auto path = in("x.npy");
  const auto with_file = [&](const char* yaml) { return test::plan_of(yaml, {"input.file='" + path.string() + "'"}); };
  tensor_io::write_npy(path, at::zeros({1, 2, 5}));
  EXPECT_THAT(message_of(with_file(kLayer)), testing::HasSubstr("expected floating-point features (batch, seq, 4)"));
  tensor_io::write_npy(path, at::zeros({1, 9, 4}));
  EXPECT_THAT(message_of(with_file(kLayer)), testing::HasSubstr("got 9 tokens, but model.context_length is 8"));
  tensor_io::write_npy(path, at::full({1, 2}, 10, at::kLong));
  EXPECT_THAT(message_of(with_file(kTokens)), testing::HasSubstr("got token id 10, expected 0 to 9"));
  tensor_io::write_npy(path, at::full({1, 2}, 9, at::kLong));
  EXPECT_NO_THROW(make_inputs(with_file(kTokens)));
}

TEST(MakeInputs, SaysHowToGiveAnInput) {
  EXPECT_THAT(message_of(test::plan_of(kTokens)),
              testing::HasSubstr("no input: add an input section, or give --input"));
}

}  // namespace
}  // namespace headwright::run

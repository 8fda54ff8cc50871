// Inputs of encoder-decoder models, and document ids, as tensors.
#include <ATen/ATen.h>
#include <gmock/gmock.h>

#include "helpers/configs.h"
#include "helpers/temporary_folder.h"
#include "model/build.h"
#include "run/forward.h"
#include "tensor_io/tensor_io.h"

namespace headwright::run {
namespace {

using testing::HasSubstr;

constexpr auto kDocuments = R"(name: m
model:
  d_model: 8
  n_heads: 2
  blocks: {b: {order: plain, attention: {name: softmax, mask: {all: [causal, document]}}}}
input: {random: {shape: [1, 5, 8]}}
)";

constexpr auto kEncoder = R"(name: m
model:
  d_model: 8
  n_heads: 2
  embedding: {vocab_size: 11}
  encoder:
    context_length: 4
    embedding: {vocab_size: 5}
    blocks: {b: {norm: layer_norm, attention: softmax}}
  blocks: {b: {norm: layer_norm, attention: {name: softmax, mask: causal}, cross_attention: softmax}}
)";

TEST(MakeInputs, TakesTokensForTheEncoder) {
  const auto inputs =
      make_inputs(test::plan_of(kEncoder, {"input={tokens: [[9, 10], [1, 2]], lengths: [2, 1], memory: {tokens: [[1, "
                                           "2, 3], [4, 0, 0]], lengths: [3, 1]}}"}));
  EXPECT_TRUE(at::equal(inputs.memory, at::tensor({1, 2, 3, 4, 0, 0}, at::kLong).view({2, 3})));
  EXPECT_TRUE(at::equal(inputs.memory_mask, at::tensor({1, 1, 1, 1, 0, 0}).view({2, 3}).to(at::kBool)));
  EXPECT_TRUE(at::equal(inputs.key_mask, at::tensor({1, 1, 1, 0}).view({2, 2}).to(at::kBool)));
}

TEST(MakeInputs, RefusesABatchOfAnotherSize) {
  EXPECT_THAT(test::message_of<InputError>([] {
                make_inputs(test::plan_of(kEncoder, {"input={tokens: [[1]], memory: {tokens: [[1], [2]]}}"}));
              }),
              HasSubstr("input.memory: got a batch of 2, expected 1 as in the input"));
}

using MemoryFile = test::TemporaryFolder;

TEST_F(MemoryFile, IsCheckedAgainstTheEncoder) {
  const auto path = in("memory.npy");
  const auto message = [&](const at::Tensor& memory) {
    tensor_io::write_npy(path, memory);
    return test::message_of<InputError>([&] {
      make_inputs(test::plan_of(kEncoder, {"input={tokens: [[1]], memory: {file: '" + path.string() + "'}}"}));
    });
  };
  EXPECT_THAT(message(at::full({1, 2}, 5, at::kLong)), HasSubstr("input.memory: got token id 5, expected 0 to 4"));
  EXPECT_THAT(message(at::zeros({1, 2, 8})), HasSubstr("expected integer token ids (batch, seq)"));
  EXPECT_THAT(message(at::zeros({1, 5}, at::kLong)), HasSubstr("got 5 tokens, but model.encoder.context_length is 4"));
}

using DocumentIds = test::TemporaryFolder;

TEST_F(DocumentIds, ComeFromListsAndFiles) {
  const auto ids = at::tensor({0, 0, 1, 1, 1}, at::kLong).view({1, 5});
  EXPECT_TRUE(
      at::equal(make_inputs(test::plan_of(kDocuments, {"input.document_ids=[[0, 0, 1, 1, 1]]"})).document_ids, ids));
  const auto path = in("ids.npy");
  const auto from_file = [&] {
    return make_inputs(test::plan_of(kDocuments, {"input.document_ids={file: '" + path.string() + "'}"}));
  };
  tensor_io::write_npy(path, ids.to(at::kInt));
  EXPECT_TRUE(at::equal(from_file().document_ids, ids));
  for (const auto& wrong : {at::zeros({1, 4}, at::kLong), at::zeros({1, 5}), at::zeros({5}, at::kLong)}) {
    tensor_io::write_npy(path, wrong);
    EXPECT_THAT(test::message_of<InputError>(from_file), HasSubstr("expected integers (1, 5) as the input"));
  }
}

TEST(Forward, DocumentsInOneRowAreAsIfEachStoodAlone) {
  const auto plan = test::plan_of(kDocuments, {"input.document_ids=[[0, 0, 1, 1, 1]]"});
  const auto model = model::build(plan);
  const auto inputs = make_inputs(plan);
  const auto y = forward(*model, inputs).y;
  const auto alone = [&](std::int64_t begin, std::int64_t end) {
    return forward(*model, {.x = inputs.x.slice(1, begin, end)}).y;
  };
  EXPECT_TRUE(at::cat({alone(0, 2), alone(2, 5)}, 1).allclose(y, 1e-5, 1e-6));
  EXPECT_FALSE(forward(*model, {.x = inputs.x}).y.allclose(y, 1e-3, 1e-3));
}

}  // namespace
}  // namespace headwright::run

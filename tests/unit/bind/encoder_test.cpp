// The encoder section, the cross_attention slot and document ids: what is read, and what is refused where.
#include <gmock/gmock.h>

#include "helpers/configs.h"

namespace headwright::bind {
namespace {

using test::plan_of;
using test::problems_of;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr auto kModel = R"(name: m
model:
  d_model: 8
  n_heads: 2
  d_head: 4
  context_length: 6
  embedding: {vocab_size: 11}
  encoder:
    embedding: {tied: true}
    blocks: {b: {norm: layer_norm, attention: softmax}}
    layers: [{use: b, repeat: 3}]
  blocks: {b: {norm: layer_norm, attention: {name: softmax, mask: causal}, cross_attention: softmax}}
)";

constexpr auto kDocuments = R"(name: m
model:
  d_model: 8
  n_heads: 2
  blocks: {b: {norm: layer_norm, attention: {name: softmax, mask: {all: [causal, document]}}}}
input: {random: {shape: [2, 3, 8]}}
)";

TEST(Encoder, TakesWhatItLeavesOutFromTheModel) {
  const auto plan = plan_of(kModel);
  ASSERT_TRUE(plan.model.encoder.has_value());
  const auto& encoder = *plan.model.encoder;
  EXPECT_EQ(encoder.blocks.size(), 3U);
  EXPECT_EQ(encoder.blocks[2].sublayers[0].dims.layer, 2);
  EXPECT_EQ(encoder.blocks[2].sublayers[0].dims.n_layers, 3);
  EXPECT_EQ(encoder.dims.d_model, 8);
  EXPECT_EQ(encoder.dims.context_length, 6);
  EXPECT_EQ(encoder.blocks[0].sublayers[0].dims.d_head, 4);
  EXPECT_EQ(encoder.embedding.claims.vocab_size, 11);
  EXPECT_TRUE(plan.model.takes_memory());
  EXPECT_TRUE(plan.model.takes_key_mask());
  EXPECT_TRUE(plan.model.takes_memory_mask());
  EXPECT_FALSE(plan.model.takes_document_ids());
}

TEST(Encoder, HandsItsOwnWidthToTheLayersThatReadIt) {
  const auto plan = plan_of(kModel, {"model.encoder.d_model=12", "model.encoder.n_heads=3",
                                     "model.encoder.embedding={vocab_size: 5}", "model.encoder.context_length=9"});
  EXPECT_EQ(plan.model.blocks[0].sublayers[1].dims.d_memory, 12);
  EXPECT_EQ(plan.model.encoder->blocks[0].sublayers[0].dims.n_kv_heads, 3);
  EXPECT_EQ(plan.model.encoder->blocks[0].sublayers[0].dims.d_head, 4);
  EXPECT_EQ(plan.model.longest_memory(), 9);
  EXPECT_EQ(wanted_memory(plan.model).vocab_size, 5);
}

TEST(CrossAttention, ReadsTheMemoryUnlessTheConfigSaysOtherwise) {
  const auto plan = plan_of(kModel);
  EXPECT_TRUE(plan.model.blocks[0].sublayers[1].claims.memory);
  EXPECT_FALSE(plan.model.blocks[0].sublayers[0].claims.memory);
  const auto* slot = plan.resolved.find("model")->find("blocks")->find("b")->find("cross_attention");
  EXPECT_EQ(slot->find("cross")->text, "true");
  EXPECT_EQ(slot->find("cross")->mark.file, "default");
  EXPECT_THAT(problems_of(kModel, {"model.blocks.b.cross_attention={name: softmax, cross: false}"}),
              HasSubstr("model.blocks.b.cross_attention: 'softmax' reads no memory with cross: false"));
  EXPECT_THAT(problems_of(kModel, {"model.blocks.b.cross_attention=causal_attention"}),
              HasSubstr("model.blocks.b.cross_attention: 'causal_attention' reads no memory; expected a variant"));
}

TEST(CrossAttention, HasNoPlaceInParallelOrder) {
  EXPECT_THAT(problems_of(kModel, {"model.blocks.b.order=parallel", "model.blocks.b.feed_forward=relu"}),
              HasSubstr("model.blocks.b.cross_attention: has no place in order parallel"));
}

TEST(CrossAttention, IsAskedForItsWidthAndSizes) {
  EXPECT_THAT(problems_of(kModel, {"model.n_kv_heads=3", "model.d_head=null"}), HasSubstr("n_kv_heads = 3"));
}

TEST(Encoder, IsRefusedWhereItDoesNotFit) {
  EXPECT_THAT(problems_of(kModel, {"model.encoder.n_head=2"}), HasSubstr("did you mean 'n_heads'?"));
  EXPECT_THAT(problems_of(kModel, {"model.encoder.n_heads=3"}),
              HasSubstr("model.encoder.d_model: got 8, but n_heads = 3 does not divide it"));
  EXPECT_THAT(problems_of(kModel, {"model.encoder.layers=[c]"}),
              HasSubstr("model.encoder.layers.0: no block is called 'c'"));
  EXPECT_THAT(problems_of(kModel, {"model.encoder.embedding.tied=false"}),
              HasSubstr("model.encoder.embedding.vocab_size: missing"));
  EXPECT_THAT(problems_of(kModel, {"model.encoder.embedding.vocab_size=11"}),
              HasSubstr("model.encoder.embedding.vocab_size: has no place beside tied: true"));
  EXPECT_THAT(problems_of(kModel, {"model.embedding=null"}),
              HasSubstr("model.encoder.embedding.tied: got true, but the model has no embedding"));
  EXPECT_THAT(problems_of(kModel, {"model.encoder.d_model=12"}),
              HasSubstr("model.encoder.embedding.tied: got true, but it reads width 12, and the matrix of the "
                        "embedding has d_model = 8"));
  EXPECT_THAT(problems_of(kModel, {"model.d_memory=8"}), HasSubstr("model.d_memory: has no place beside an encoder"));
  EXPECT_THAT(problems_of(kModel, {"model.blocks.b.cross_attention=null"}),
              HasSubstr("model.encoder: has no effect: no layer of the model reads a memory"));
  EXPECT_THAT(problems_of(kModel, {"model.encoder.blocks.b.cross_attention=softmax"}),
              HasSubstr("model.encoder.blocks.b.cross_attention: has no place in an encoder"));
  EXPECT_THAT(problems_of(kModel, {"model.encoder.blocks.b.attention={name: softmax, cross: true}"}),
              HasSubstr("model.encoder.blocks.b.attention: 'softmax' reads a memory here"));
  EXPECT_THAT(problems_of(kModel, {"model.encoder.blocks.b.attention={name: softmax, mask: document}"}),
              HasSubstr("model.encoder.blocks.b.attention: 'softmax' reads document ids here"));
}

TEST(Encoder, HintsNameThePlacesOfTheSectionAtHand) {
  EXPECT_THAT(problems_of(kModel, {"model.encoder.vocab_size=3"}),
              HasSubstr("'vocab_size' belongs under model.encoder.embedding"));
  EXPECT_THAT(problems_of(kModel, {"model.vocab_size=3"}), HasSubstr("'vocab_size' belongs under model.embedding"));
  EXPECT_THAT(problems_of(kModel, {"model.encoder.head={tied: true}"}), HasSubstr("'head' belongs under model"));
  EXPECT_THAT(problems_of(kModel, {"model.blocks.b.cross_attn=softmax"}), HasSubstr("did you mean 'cross_attention'?"));
}

TEST(Encoder, ItsInputIsTheMemory) {
  const auto with = [](const std::string& memory) {
    return problems_of(kModel, {"input={tokens: [[1, 2], [3, 4]], memory: " + memory + "}"});
  };
  EXPECT_THAT(with("{tokens: [[1, 2, 3], [4, 5, 6]], lengths: [3, 1]}"), IsEmpty());
  EXPECT_THAT(with("{random: {shape: [2, 3]}}"), IsEmpty());
  EXPECT_THAT(with("{tokens: [[1, 2, 3], [4, 5, 11]]}"),
              HasSubstr("input.memory.tokens.1.2: got token id 11, expected 0 to 10"));
  EXPECT_THAT(with("{values: [[[1, 2]], [[3, 4]]]}"),
              HasSubstr("input.memory.values: got features, but the encoder has an embedding"));
  EXPECT_THAT(with("{random: {shape: [2, 7]}}"), HasSubstr("got 7 tokens, but model.encoder.context_length is 6"));
  EXPECT_THAT(problems_of(kModel, {"input.tokens=[[1, 2]]"}),
              HasSubstr("input.memory: missing: the model has an encoder"));
}

TEST(DocumentIds, AreReadWhereALayerReadsThem) {
  const auto plan = plan_of(kDocuments, {"input.document_ids=[[0, 0, 1], [5, 6, 6]]"});
  EXPECT_TRUE(plan.model.takes_document_ids());
  EXPECT_THAT(plan.input.document_ids.values, testing::ElementsAre(0, 0, 1, 5, 6, 6));
  EXPECT_THAT(problems_of(kDocuments, {"input.document_ids={file: a.npy}"}), IsEmpty());
  EXPECT_THAT(problems_of(kDocuments, {"input.document_ids={file: a.safetensors, tensor: ids}"}), IsEmpty());
}

TEST(DocumentIds, AreRefusedWhereNobodyReadsThemOrTheyDoNotFit) {
  EXPECT_THAT(
      problems_of(kDocuments, {"model.blocks.b.attention.mask=causal", "input.document_ids=[[0, 0, 1], [5, 6, 6]]"}),
      HasSubstr("input.document_ids: has no effect: no layer of the model reads document ids"));
  EXPECT_THAT(problems_of(kDocuments, {"input.document_ids=[[0, 0, 1]]"}),
              HasSubstr("input.document_ids: got shape (1, 3), expected (2, 3)"));
  EXPECT_THAT(problems_of(kDocuments, {"input.document_ids=[[0, 0.5, 1], [1, 2, 3]]"}),
              HasSubstr("input.document_ids.0.1: "));
  EXPECT_THAT(problems_of(kDocuments, {"input.document_ids=[[0, 0, 9007199254740993], [1, 2, 3]]"}),
              HasSubstr("input.document_ids: got an id of 2^53 or more"));
  EXPECT_THAT(problems_of(kDocuments, {"input.document_ids={tensor: ids}"}), HasSubstr("input.document_ids"));
}

}  // namespace
}  // namespace headwright::bind

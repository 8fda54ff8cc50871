// Positions are input: given, counted along visible tokens, from 0 in each document. Packed documents and padded rows
// then equal each row alone.
#include <ATen/ATen.h>
#include <gmock/gmock.h>

#include "exporter/script.h"
#include "exporter/verify.h"
#include "helpers/configs.h"
#include "model/build.h"

namespace headwright::model {
namespace {

using testing::HasSubstr;

struct Case {
  const char* embedding;
  const char* attention;
};

/// Every way in which positions enter a model.
constexpr std::array kCases{Case{"learned", ""}, Case{"sinusoidal", ""}, Case{"null", ", position: rope"},
                            Case{"null", ", position: alibi"}, Case{"null", ", position: relative_bias"}};

std::string model_text(const Case& it, const std::string& mask, const std::string& positions) {
  return std::string("name: m\nmodel:\n  d_model: 8\n  n_heads: 4\n  context_length: 16\n  positions: ") + positions +
         "\n  embedding: {vocab_size: 11, position: " + it.embedding +
         "}\n  blocks:\n    b: {norm: layer_norm, attention: {name: softmax, mask: " + mask + it.attention +
         "}, feed_forward: relu}\n  layers: [{use: b, repeat: 2}]\n  head: {tied: true}\n";
}

constexpr auto kPacked = "{all: [causal, document]}";

double largest(const at::Tensor& a, const at::Tensor& b) { return (a - b).abs().max().item<double>(); }

TEST(Positions, OfPackedDocumentsStartAgainWithEach) {
  for (const auto& it : kCases) {
    SCOPED_TRACE(std::string(it.embedding) + it.attention);
    const auto model = build(test::plan_of(model_text(it, kPacked, "{restart: document}")));
    const at::NoGradGuard no_grad;
    const auto tokens = at::randint(0, 11, {2, 9});
    const auto ids = at::tensor({0, 0, 0, 1, 1, 4, 4, 4, 4}, at::kLong).expand({2, 9});
    const auto packed = model->forward({.x = tokens, .document_ids = ids});
    for (const auto& [begin, end] : {std::pair{0, 3}, {3, 5}, {5, 9}}) {
      EXPECT_LE(largest(packed.slice(1, begin, end), model->forward({.x = tokens.slice(1, begin, end)})), 1e-5);
    }
  }
}

TEST(Positions, AreCountedAlongVisibleTokens) {
  for (const auto& it : kCases) {
    SCOPED_TRACE(std::string(it.embedding) + it.attention);
    const auto model = build(test::plan_of(model_text(it, "causal", "{count: visible}")));
    const at::NoGradGuard no_grad;
    const auto tokens = at::randint(0, 11, {2, 9});
    auto mask = at::ones({2, 9}, at::kBool);
    mask.select(0, 1).slice(0, 0, 4).fill_(false);
    const auto padded = model->forward({.x = tokens, .key_mask = mask});
    EXPECT_LE(largest(padded.slice(0, 0, 1), model->forward({.x = tokens.slice(0, 0, 1)})), 1e-5);
    EXPECT_LE(largest(padded.slice(0, 1).slice(1, 4), model->forward({.x = tokens.slice(0, 1).slice(1, 4)})), 1e-5);
  }
}

TEST(Positions, ThatAreGivenAreTaken) {
  for (const auto& it : kCases) {
    SCOPED_TRACE(std::string(it.embedding) + it.attention);
    const auto model = build(test::plan_of(model_text(it, "causal", "null")));
    const at::NoGradGuard no_grad;
    const auto tokens = at::randint(0, 11, {2, 5});
    const auto counted = at::arange(5).expand({2, 5});
    EXPECT_LE(largest(model->forward({.x = tokens, .positions = counted}), model->forward({.x = tokens})), 1e-5);
    EXPECT_GT(largest(model->forward({.x = tokens, .positions = counted * 3}), model->forward({.x = tokens})), 1e-4);
  }
}

TEST(Positions, AreAnArgumentOfExportsAndCountedThereAlike) {
  for (const auto* positions : {"null", "{count: visible, restart: document}"}) {
    for (const auto& it : kCases) {
      SCOPED_TRACE(std::string(it.embedding) + it.attention + positions);
      const auto plan = test::plan_of(model_text(it, kPacked, positions));
      const auto model = build(plan);
      const at::NoGradGuard no_grad;
      const auto script = exporter::make_script(*model, plan, {2, 6, 0});
      EXPECT_THAT(script.signature.declaration(), HasSubstr("positions: Optional[Tensor] = None"));
      exporter::verify(script, *model, plan, {{1, 1, 0}, {3, 9, 0}, {2, 16, 0}});
    }
  }
}

TEST(Positions, RefuseCountingWithoutEffect) {
  const Case rope{"null", ", position: rope"}, none{"null", ""};
  EXPECT_THAT(test::problems_of(model_text(none, "causal", "{count: visible}")),
              HasSubstr("model.positions: has no effect: neither the embedding nor a layer follows positions"));
  EXPECT_THAT(test::problems_of(model_text(rope, "causal", "{restart: document}")),
              HasSubstr("model.positions.restart: got document, but no layer keeps documents apart"));
  EXPECT_THAT(test::problems_of(model_text(none, "causal", "null"), {"input={tokens: [[1]], positions: [[0]]}"}),
              HasSubstr("input.positions: has no effect"));
}

}  // namespace
}  // namespace headwright::model

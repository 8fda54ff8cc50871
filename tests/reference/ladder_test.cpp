// The tutorial's variants against loops over doubles, outputs and gradients, at odd lengths and with hidden keys.
#include <gtest/gtest.h>

#include <ostream>

#include "headwright/attention.h"
#include "helpers/variants.h"
#include "reference/against_loops.h"

namespace {

using headwright::Dims;
using headwright::Value;
using loops::Row;
using loops::Rows;
using Sees = std::function<bool(std::size_t, std::size_t)>;

constexpr Dims kDims{.d_model = 5, .n_heads = 3, .n_kv_heads = 3, .context_length = 9};

struct Case {
  std::string title, variant;
  headwright::ParamMap params;
  std::int64_t d_out;
  bool causal;
  std::function<Rows(const torch::nn::Module&, const Rows& x, const Sees&)> reference;
};

void PrintTo(const Case& test_case, std::ostream* out) { *out << test_case.title; }

Rows transposed(const Rows& rows) {
  Rows result(rows[0].size(), Row(rows.size()));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t j = 0; j < rows[i].size(); ++j) result[j][i] = rows[i][j];
  }
  return result;
}

Rows simple(const torch::nn::Module&, const Rows& x, const Sees& sees) { return loops::attention(x, x, x, 1, sees); }

Rows v1(const torch::nn::Module& module, const Rows& x, const Sees& sees) {
  const auto project = [&](const char* name) {
    return loops::linear(x, transposed(loops::parameter(module, name)), Row{});
  };
  const auto q = project("W_query");
  return loops::attention(q, project("W_key"), project("W_value"), 1 / std::sqrt(double(q[0].size())), sees);
}

/// prefix: "" or "heads.1."
Rows one_head(const torch::nn::Module& module, const std::string& prefix, const Rows& x, const Sees& sees) {
  const auto project = [&](const char* name) { return loops::linear(module, prefix + name, x); };
  const auto q = project("W_query");
  return loops::attention(q, project("W_key"), project("W_value"), 1 / std::sqrt(double(q[0].size())), sees);
}

Rows linears(const torch::nn::Module& module, const Rows& x, const Sees& sees) { return one_head(module, "", x, sees); }

Rows wrapper(const torch::nn::Module& module, const Rows& x, const Sees& sees) {
  Rows y;
  for (int h = 0; h < kDims.n_heads; ++h) {
    y = loops::beside(y, one_head(module, "heads." + std::to_string(h) + ".", x, sees));
  }
  return y;
}

Rows multi_head(const torch::nn::Module& module, const Rows& x, const Sees& sees) {
  const auto q = loops::linear(module, "W_query", x), k = loops::linear(module, "W_key", x);
  const auto v = loops::linear(module, "W_value", x);
  const auto d_head = q[0].size() / kDims.n_heads;
  Rows merged;
  for (std::size_t h = 0; h < kDims.n_heads; ++h) {
    const auto part = [&](const Rows& rows) { return loops::columns(rows, h * d_head, d_head); };
    merged = loops::beside(merged, loops::attention(part(q), part(k), part(v), 1 / std::sqrt(double(d_head)), sees));
  }
  return module.named_parameters().contains("out_proj.weight") ? loops::linear(module, "out_proj", merged) : merged;
}

Value whole(std::int64_t number) { return {number}; }

std::vector<Case> cases() {
  return {
      {"simple_matrix", "simple_self_attention", {}, 5, false, simple},
      {"simple_loop", "simple_self_attention", {{"form", Value{std::string("loop")}}}, 5, false, simple},
      {"v1", "self_attention_v1", {{"d_out", whole(4)}}, 4, false, v1},
      {"v1_default_width", "self_attention_v1", {}, 5, false, v1},
      {"v2", "self_attention_v2", {{"d_out", whole(4)}}, 4, false, linears},
      {"v2_bias", "self_attention_v2", {{"qkv_bias", Value{true}}}, 5, false, linears},
      {"causal", "causal_attention", {{"d_out", whole(2)}}, 2, true, linears},
      {"causal_bias", "causal_attention", {{"qkv_bias", Value{true}}}, 5, true, linears},
      {"wrapper", "multi_head_wrapper", {{"d_out", whole(2)}}, 6, true, wrapper},
      {"wrapper_bias", "multi_head_wrapper", {{"d_out", whole(1)}, {"qkv_bias", Value{true}}}, 3, true, wrapper},
      {"multi_head", "multi_head_attention", {{"d_out", whole(6)}}, 6, true, multi_head},
      {"multi_head_all_see_all",
       "multi_head_attention",
       {{"d_out", whole(6)}, {"causal", Value{false}}},
       6,
       false,
       multi_head},
      {"multi_head_no_out_bias",
       "multi_head_attention",
       {{"d_out", whole(3)}, {"qkv_bias", Value{true}}, {"out_bias", Value{false}}},
       3,
       true,
       multi_head},
      {"multi_head_no_out_proj",
       "multi_head_attention",
       {{"d_out", whole(6)}, {"out_proj", Value{false}}},
       6,
       true,
       multi_head},
  };
}

class Ladder : public testing::TestWithParam<Case> {
 protected:
  /// keys: visible ones of each sequence, (batch, seq) bool; undefined = all.
  void expect_agreement(std::int64_t seq_len, const at::Tensor& keys) {
    const auto& test_case = GetParam();
    at::manual_seed(17);
    const auto module = headwright::test::make<headwright::Attention>(test_case.variant, kDims, test_case.params);
    module->to(at::kDouble);
    module->eval();
    const loops::Reference reference = [&](const torch::nn::Module& m, const Rows& x, std::int64_t b) {
      return test_case.reference(m, x, [&](std::size_t i, std::size_t j) {
        if (test_case.causal && j > i) return false;
        return !keys.defined() || keys[b][static_cast<std::int64_t>(j)].item<bool>();
      });
    };
    loops::expect_agreement(reference, *module, at::randn({2, seq_len, kDims.d_model}, at::kDouble),
                            [&](const at::Tensor& x) { return module->forward({.x = x, .key_mask = keys}); });
  }
};

TEST_P(Ladder, EqualsTheLoopInOutputsAndGradientsAtOddLengths) {
  for (const std::int64_t seq_len : {1, 3, 7}) {
    SCOPED_TRACE("seq " + std::to_string(seq_len));
    expect_agreement(seq_len, {});
  }
}

TEST_P(Ladder, HidesMaskedKeysAndGivesZerosWithFiniteGradientsWhereNothingIsVisible) {
  const auto keys = at::tensor({1, 1, 0, 1, 0, 0, 0, 0, 0, 0}).to(at::kBool).view({2, 5});  // the second sees nothing
  expect_agreement(5, keys);
  expect_agreement(5, keys.flip(1));
}

TEST_P(Ladder, ClaimsWhatItDoes) {
  const auto& test_case = GetParam();
  const auto claims = headwright::test::variant(test_case.variant).claims(kDims, test_case.params);
  EXPECT_EQ(claims.d_out == 0 ? kDims.d_model : claims.d_out, test_case.d_out);
  EXPECT_EQ(claims.causal, test_case.causal);
  EXPECT_TRUE(claims.key_mask);
  EXPECT_FALSE(claims.memory);
  EXPECT_FALSE(claims.core);
  EXPECT_EQ(claims.dynamic_export, test_case.title != "simple_loop");
  EXPECT_FALSE(claims.cost.empty());
}

INSTANTIATE_TEST_SUITE_P(Variants, Ladder, testing::ValuesIn(cases()),
                         [](const auto& variant) { return variant.param.title; });

std::vector<std::string> tensor_names(const torch::nn::Module& module) {
  std::vector<std::string> names;
  for (const auto& named : module.named_parameters()) names.push_back(named.key());
  for (const auto& named : module.named_buffers()) names.push_back(named.key());
  return names;
}

TEST(LadderNames, AreTheTutorials) {
  using Names = std::vector<std::string>;
  const auto names = [](const std::string& variant, const Dims& dims) {
    return tensor_names(*headwright::test::make<headwright::Attention>(variant, dims));
  };
  const Dims dims{.d_model = 4, .n_heads = 2, .context_length = 3};
  EXPECT_EQ(names("simple_self_attention", dims), Names{});
  EXPECT_EQ(names("self_attention_v1", dims), (Names{"W_query", "W_key", "W_value"}));
  EXPECT_EQ(names("self_attention_v2", dims), (Names{"W_query.weight", "W_key.weight", "W_value.weight"}));
  EXPECT_EQ(names("causal_attention", dims), (Names{"W_query.weight", "W_key.weight", "W_value.weight", "mask"}));
  EXPECT_EQ(names("multi_head_wrapper", dims),
            (Names{"heads.0.W_query.weight", "heads.0.W_key.weight", "heads.0.W_value.weight", "heads.1.W_query.weight",
                   "heads.1.W_key.weight", "heads.1.W_value.weight", "heads.0.mask", "heads.1.mask"}));
  EXPECT_EQ(names("multi_head_attention", dims),
            (Names{"W_query.weight", "W_key.weight", "W_value.weight", "out_proj.weight", "out_proj.bias", "mask"}));
}

TEST(LadderCheck, NamesTheHeadsThatDoNotDivideTheWidth) {
  const Dims dims{.d_model = 7, .n_heads = 2, .context_length = 3};
  EXPECT_EQ(headwright::test::issues("multi_head_attention", dims),
            std::vector<std::string>{"n_heads: got 2, expected a divisor of d_out = 7"});
  EXPECT_TRUE(headwright::test::issues("multi_head_attention", dims, {{"d_out", whole(6)}}).empty());
}

TEST(LadderCheck, AsksForTheContextLengthThatTheMaskNeeds) {
  const Dims dims{.d_model = 4, .n_heads = 2};
  for (const std::string variant : {"causal_attention", "multi_head_wrapper", "multi_head_attention"}) {
    const auto found = headwright::test::issues(variant, dims);
    ASSERT_EQ(found.size(), 1u) << variant;
    EXPECT_EQ(found[0].substr(0, 15), "context_length:") << variant;
  }
  EXPECT_TRUE(headwright::test::issues("multi_head_attention", dims, {{"causal", Value{false}}}).empty());
}

TEST(LadderCheck, BoundsTheHeadsThatAreModulesOfTheirOwn) {
  const auto found = [](std::int64_t n_heads) {
    return headwright::test::issues("multi_head_wrapper", {.d_model = 4, .n_heads = n_heads, .context_length = 3});
  };
  EXPECT_EQ(found(1'000'000'000'000),
            std::vector<std::string>{"n_heads: got more than 4096; each head is a module of its own"});
  EXPECT_TRUE(found(4096).empty());
}

TEST(LadderMask, RefusesASequenceLongerThanTheStoredMask) {
  const auto module =
      headwright::test::make<headwright::Attention>("causal_attention", {.d_model = 4, .context_length = 3});
  EXPECT_THROW(module->forward({.x = at::zeros({1, 4, 4})}), headwright::ShapeError);
}

TEST(LadderDropout, DropsWeightsInTrainingAlone) {
  for (const std::string variant : {"causal_attention", "multi_head_wrapper", "multi_head_attention"}) {
    const auto module = headwright::test::make<headwright::Attention>(
        variant, {.d_model = 4, .n_heads = 2, .context_length = 9}, {{"dropout", Value{0.5}}});
    const auto x = at::randn({2, 9, 4});
    module->eval();
    EXPECT_TRUE(at::equal(module->forward({.x = x}), module->forward({.x = x}))) << variant;
    module->train();
    EXPECT_FALSE(at::equal(module->forward({.x = x}), module->forward({.x = x}))) << variant;
  }
}

}  // namespace

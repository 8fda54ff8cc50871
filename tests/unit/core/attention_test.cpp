// What QkvAttention gives every variant on queries, keys and values.
#include "headwright/attention.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "headwright/plugin.h"

namespace headwright {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

class Plain final : public QkvAttention {
 public:
  explicit Plain(const Dims& dims, const QkvOptions& options = {}) : QkvAttention(dims, options) {}
  Scoring last_scoring;

 protected:
  at::Tensor mix(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const Inputs& inputs) override {
    last_scoring = scoring(inputs);
    return attend(q, k, v, last_scoring).y;
  }
};

const Dims kDims{.d_model = 12, .n_heads = 4, .n_kv_heads = 2};

std::vector<std::string> named(const torch::nn::Module& module) {
  std::vector<std::string> names;
  for (const auto& item : module.named_parameters()) names.push_back(item.key() + " " + c10::str(item.value().sizes()));
  return names;
}

TEST(QkvAttention, ProjectsToHeadsOfQueriesAndFewerHeadsOfKeys) {
  EXPECT_THAT(named(Plain(kDims)),
              ElementsAre("q_proj.weight [12, 12]", "k_proj.weight [6, 12]", "v_proj.weight [6, 12]",
                          "out_proj.weight [12, 12]", "out_proj.bias [12]"));
  const Dims wide{.d_model = 12, .n_heads = 4, .n_kv_heads = 4, .d_head = 5, .d_memory = 7};
  EXPECT_THAT(named(Plain(wide, {.qkv_bias = true, .out_bias = false, .cross = true})),
              ElementsAre("q_proj.weight [20, 12]", "q_proj.bias [20]", "k_proj.weight [20, 7]", "k_proj.bias [20]",
                          "v_proj.weight [20, 7]", "v_proj.bias [20]", "out_proj.weight [12, 20]"));
}

TEST(QkvAttention, ReadsKeysAndValuesOfTheMemoryWhenCross) {
  Plain cross({.d_model = 12, .n_heads = 4, .n_kv_heads = 2, .d_memory = 5}, {.cross = true});
  const auto x = at::randn({2, 3, 12}), memory = at::randn({2, 7, 5});
  EXPECT_EQ(cross.forward({.x = x, .memory = memory}).sizes(), x.sizes());
  EXPECT_FALSE(cross.last_scoring.same_sequence);
  EXPECT_THAT([&] { cross.forward({.x = x}); },
              ThrowsMessage<InputError>(HasSubstr("[attention] memory: got nothing")));
  EXPECT_THAT([&] { cross.forward({.x = x, .memory = at::randn({2, 7, 12})}); },
              ThrowsMessage<ShapeError>(HasSubstr("memory: got (2, 7, 12), expected (batch, length, d_memory = 5)")));
  EXPECT_THAT([&] { cross.forward({.x = x, .memory = at::randn({1, 7, 5})}); },
              ThrowsMessage<ShapeError>(HasSubstr("the batch size of x (2, 3, 12)")));
}

TEST(QkvAttention, TakesTheMaskOfWhatItReads) {
  const auto x = at::randn({2, 3, 12});
  const auto key_mask = at::ones({2, 3}, at::kBool), memory_mask = at::ones({2, 7}, at::kBool);
  Plain self(kDims), cross(kDims, {.cross = true});
  self.forward({.x = x, .key_mask = key_mask});
  EXPECT_TRUE(self.last_scoring.key_mask.is_same(key_mask));
  EXPECT_TRUE(self.last_scoring.same_sequence);
  cross.forward({.x = x, .memory = at::randn({2, 7, 12}), .memory_mask = memory_mask});
  EXPECT_TRUE(cross.last_scoring.key_mask.is_same(memory_mask));
}

TEST(QkvAttention, RefusesInputsThatDoNotFit) {
  Plain layer(kDims);
  const auto x = at::randn({2, 3, 12});
  EXPECT_THAT([&] { layer.forward({.x = at::randn({2, 3, 11})}); },
              ThrowsMessage<ShapeError>("[attention] x: got (2, 3, 11), expected (batch, length, d_model = 12)"));
  EXPECT_THROW(layer.forward({}), ShapeError);
  EXPECT_THAT([&] { layer.forward({.x = x, .key_mask = at::ones({2, 4}, at::kBool)}); },
              ThrowsMessage<ShapeError>(HasSubstr("key_mask: got (2, 4), expected (batch, length) of x (2, 3, 12)")));
  EXPECT_THAT([&] { layer.forward({.x = x, .key_mask = at::ones({2, 3})}); },
              ThrowsMessage<ShapeError>(HasSubstr("key_mask: got dtype Float, expected bool")));
}

TEST(QkvAttention, NotesItsTensorsUnderItsPathWhenSomebodyWantsThem) {
  Plain layer(kDims);
  Recorder recorder;
  recorder.want("k");
  recorder.want("heads");
  const Inputs outer{.recorder = &recorder, .path = "blocks.0"};
  layer.forward(outer.with(at::randn({2, 3, 12}), "attention"));
  ASSERT_EQ(recorder.notes().size(), 2U);
  EXPECT_EQ(recorder.notes()[0].path, "blocks.0.attention");
  EXPECT_EQ(recorder.notes()[0].value.sizes(), at::IntArrayRef({2, 2, 3, 3}));
  EXPECT_EQ(recorder.notes()[1].name, "heads");
  EXPECT_FALSE(recorder.notes()[1].value.requires_grad());
}

TEST(QkvAttention, ReportsTheNameThatDoesNotFit) {
  const auto issue = [](const Dims& dims) {
    Issues issues;
    QkvAttention::check_heads(dims, issues);
    return issues.items().empty() ? "" : issues.items()[0].name + ": " + issues.items()[0].message;
  };
  EXPECT_EQ(issue({.d_model = 60, .n_heads = 12, .n_kv_heads = 5}),
            "n_heads: got 12, but n_kv_heads = 5 does not divide it");
  EXPECT_THAT(issue({.d_model = 10, .n_heads = 4}), HasSubstr("d_model: got 10, but n_heads = 4 does not divide it"));
  EXPECT_EQ(issue({.d_model = 10, .n_heads = 4, .n_kv_heads = 2, .d_head = 3}), "");
  EXPECT_EQ(issue({.d_model = 10, .n_heads = 0}), "n_heads: got 0, expected at least 1");
}

class Shift final : public Position {
 public:
  struct Params {
    static constexpr auto fields() { return std::tuple{}; }
  };
  static constexpr auto kSummary = "adds the position to q, its negative to k", kSource = "none";
  static Claims claims(const Dims&, const Params&) { return {.rotate = true}; }
  Shift(const Dims&, const Params&) {}
  std::pair<at::Tensor, at::Tensor> rotate(const at::Tensor& q, const at::Tensor& k, const at::Tensor& q_positions,
                                           const at::Tensor& k_positions) override {
    return {q * 0 + q_positions.unsqueeze(-1), k * 0 - k_positions.unsqueeze(-1)};
  }
};

TEST(QkvAttention, RotatesByItsPositionBeforeTheScores) {
  const auto spec = spec_of<Shift>("shift");
  Plain layer(kDims, {.position = {.variant = &spec}});
  Recorder recorder;
  layer.forward({.x = at::randn({2, 3, 12}), .recorder = &recorder});
  EXPECT_EQ(recorder.notes()[0].value[1][3][2][0].item<float>(), 2);
  EXPECT_EQ(recorder.notes()[1].value[1][1][2][0].item<float>(), -2);
  Recorder later;
  layer.forward({.x = at::randn({2, 3, 12}), .positions = at::tensor({5, 6, 7}), .recorder = &later});
  EXPECT_EQ(later.notes()[0].value[1][3][2][0].item<float>(), 7);
}

TEST(Kinds, AHookThatIsNotClaimedSaysWhich) {
  Shift position({}, {});
  EXPECT_THAT([&] { position.embed({}, {}); }, ThrowsMessage<Error>(HasSubstr("does not claim 'embed'")));
  EXPECT_EQ(make_position({}, {}), nullptr);
}

TEST(Kinds, AVariantOutsideTheCoreComputesItsOwnScores) {
  EXPECT_EQ(Plain(kDims).kernel().effective, "own");
  EXPECT_EQ(to_string(Kind::feed_forward), "feed_forward");
}

}  // namespace
}  // namespace headwright

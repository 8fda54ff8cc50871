// The variants of the softmax family keep their promises with every mask, position and norm that they offer.
#include <gtest/gtest.h>

#include "check/check.h"
#include "helpers/components.h"
#include "helpers/variants.h"

namespace headwright {
namespace {

Component component(const std::string& name, const ParamMap& changes = {}) {
  const auto& variant = test::variant(name);
  auto values = test::default_values(variant);
  for (const auto& [row, value] : changes) {
    for (auto& [known, old] : values) {
      if (known == row) old = value;
    }
  }
  return {.variant = &variant, .values = values};
}

/// changes: of the rows, by name; each of them must be one.
void expect_all_hold(const std::string& name, const Dims& dims, const ParamMap& changes) {
  const auto subject = component(name, changes);
  for (const auto& [row, value] : changes) {
    ASSERT_NE(std::ranges::find(subject.variant->params, row, &ParamSpec::name), subject.variant->params.end()) << row;
  }
  ASSERT_EQ(test::issues(name, dims, subject.values), std::vector<std::string>{});
  for (const auto& property : check::run_checks(*subject.variant, dims, subject.values)) {
    EXPECT_TRUE(property.passed) << property.name << ": " << property.detail;
  }
}

std::vector<Mask> masks() {
  return {Mask(), Mask::causal(), Mask::window(3), Mask::document(), Mask::any({Mask::band(1, 1), Mask::global(1)})};
}

/// Sizes of a variant on queries, keys and values, with one head of keys and another width of memory.
Dims shared_keys() {
  auto dims = test::small_dims();
  dims.n_kv_heads = 1;
  dims.d_memory = 6;
  return dims;
}

class QkvVariant : public testing::TestWithParam<std::string> {};

TEST_P(QkvVariant, KeepsItsPromisesWithEveryMask) {
  for (const auto& mask : masks()) {
    SCOPED_TRACE(mask.to_string());
    expect_all_hold(GetParam(), shared_keys(), {{"mask", {mask}}});
  }
}

TEST_P(QkvVariant, KeepsItsPromisesOverAMemory) {
  for (const auto& mask : {Mask(), Mask::causal()}) {
    SCOPED_TRACE(mask.to_string());
    expect_all_hold(GetParam(), shared_keys(), {{"cross", {true}}, {"mask", {mask}}});
  }
}

TEST_P(QkvVariant, KeepsItsPromisesWithEveryPosition) {
  for (const std::string position : {"rope", "alibi", "relative_bias"}) {
    if (GetParam() == "differential" && position != "rope") continue;  // refused by its check
    SCOPED_TRACE(position);
    expect_all_hold(GetParam(), shared_keys(), {{"position", {component(position)}}, {"mask", {Mask::causal()}}});
  }
}

TEST_P(QkvVariant, KeepsItsPromisesWithNormsAndModifiers) {
  for (const std::string norm : {"rms", "l2"}) {
    SCOPED_TRACE(norm);
    expect_all_hold(GetParam(), shared_keys(),
                    {{"qk_norm", {norm}}, {"modifiers", {std::vector{ScoreModifier::softcap(2)}}}});
  }
}

INSTANTIATE_TEST_SUITE_P(Family, QkvVariant, testing::Values("softmax", "differential", "sigmoid", "top_k"),
                         [](const auto& variant) { return variant.param; });

TEST(LatentVariant, KeepsItsPromisesWithEveryMaskAndPart) {
  const ParamMap parts[] = {
      {{"latent_norm", {false}}, {"out_bias", {true}}},
      {{"d_q_latent", {std::int64_t{3}}}, {"d_rope", {std::int64_t{2}}}, {"position", {component("rope")}}},
  };
  for (const auto& part : parts) {
    for (const auto& mask : masks()) {
      SCOPED_TRACE(part[0].first + ", " + mask.to_string());
      auto changes = part;
      changes.push_back({"mask", {mask}});
      expect_all_hold("latent", test::small_dims(), changes);
    }
  }
}

TEST(Rope, KeepsItsPromisesWithEveryScaling) {
  const ParamMap settings[] = {
      {{"layout", {std::string("interleaved")}}, {"partial_rotary_factor", {0.5}}},
      {{"scaling", {std::string("linear")}}, {"factor", {4.0}}},
      {{"scaling", {std::string("yarn")}}, {"factor", {4.0}}, {"original_context_length", {std::int64_t{64}}}},
      {{"scaling", {std::string("llama3")}}, {"factor", {4.0}}, {"original_context_length", {std::int64_t{64}}}},
      {{"scaling", {std::string("dynamic")}}, {"factor", {4.0}}, {"original_context_length", {std::int64_t{24}}}},
      {{"scaling", {std::string("longrope")}},
       {"factor", {4.0}},
       {"original_context_length", {std::int64_t{24}}},
       {"short_factor", {std::vector<Value>{{1.0}, {1.25}, {1.75}, {2.5}}}},
       {"long_factor", {std::vector<Value>{{1.5}, {3.0}, {4.0}, {8.0}}}}},
  };
  auto dims = test::small_dims();  // several pairs of channels, which the scalings tell apart
  dims.d_model = 16;
  dims.d_head = 8;
  for (const auto& setting : settings) {
    SCOPED_TRACE(setting[0].first);
    expect_all_hold("rope", dims, setting);
    expect_all_hold("softmax", dims, {{"position", {component("rope", setting)}}, {"mask", {Mask::causal()}}});
  }
}

/// Sizes and settings that the kit's own inputs have to fit.
TEST(Positions, KeepTheirPromisesWithUnusualSizes) {
  const auto sizes = [](std::int64_t n_heads, std::int64_t context_length) {
    auto dims = test::small_dims();
    dims.n_heads = dims.n_kv_heads = n_heads;
    dims.d_head = dims.d_model % n_heads == 0 ? dims.d_model / n_heads : 0;
    dims.context_length = context_length;
    return dims;
  };
  for (const std::int64_t n_heads : {1, 3, 6, 8}) {
    SCOPED_TRACE(n_heads);
    expect_all_hold("alibi", sizes(n_heads, 160), {});
    if (n_heads % 3 == 0) expect_all_hold("alibi", sizes(n_heads, 160), {{"slopes", {std::string("geometric")}}});
    expect_all_hold("relative_bias", sizes(n_heads, 0), {});
  }
  for (const std::int64_t context_length : {1, 2, 3, 5, 9, 10, 131, 132}) {
    SCOPED_TRACE(context_length);
    for (const std::string variant : {"learned", "sinusoidal", "alibi", "relative_bias"}) {
      SCOPED_TRACE(variant);
      expect_all_hold(variant, sizes(2, context_length), {});
    }
  }
}

TEST(RelativeBias, KeepsItsPromisesWithFewBuckets) {
  for (const auto& [n_buckets, max_distance, both] :
       {std::tuple{4, 128, true}, {2, 128, false}, {3, 9, false}, {6, 9, true}}) {
    SCOPED_TRACE(n_buckets);
    expect_all_hold("relative_bias", test::small_dims(),
                    {{"n_buckets", {std::int64_t{n_buckets}}},
                     {"max_distance", {std::int64_t{max_distance}}},
                     {"bidirectional", {both}}});
  }
}

}  // namespace
}  // namespace headwright

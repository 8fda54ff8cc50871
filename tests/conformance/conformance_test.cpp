// Every registered variant keeps its promises: with its defaults, and as each shipped config uses it.
#include <gtest/gtest.h>

#include <set>

#include "bind/values.h"
#include "check/check.h"
#include "helpers/components.h"
#include "spec/emit.h"

namespace headwright {
namespace {

void expect_all_hold(const VariantSpec& variant, const Dims& dims, const ParamMap& values) {
  for (const auto& property : check::run_checks(variant, dims, values)) {
    EXPECT_TRUE(property.passed) << property.name << ": " << property.detail;
  }
}

std::string text_of(const Component& component);

std::string text_of(const Value& value) {
  if (const auto* mask = std::get_if<Mask>(&value.data)) return mask->to_string();
  if (const auto* component = std::get_if<Component>(&value.data)) return text_of(*component);
  if (const auto* modifiers = std::get_if<std::vector<ScoreModifier>>(&value.data)) {
    std::string text;
    for (const auto& modifier : *modifiers) text += modifier.to_string() + " ";
    return text;
  }
  auto map = bind::map_node(bind::default_mark());
  bind::set(map, "value", bind::to_node(value, bind::default_mark()));
  return spec::emit(map);
}

std::string text_of(const Component& component) {
  if (!component) return "none";
  auto text = component.variant->name + "(";
  for (const auto& [name, value] : component.values) text += name + ": " + text_of(value) + ", ";
  return text + ")";
}

/// Equal for uses that the kit could not tell apart.
std::string signature(const test::Use& use) {
  auto text = text_of(use.component);
  const auto& dims = use.dims;
  for (const auto size :
       {dims.d_model, dims.n_heads, dims.n_kv_heads, dims.d_head, dims.context_length, dims.d_memory}) {
    text += " " + std::to_string(size);
  }
  return text + " " + dims.kernel;
}

TEST(Conformance, EveryVariantKeepsItsPromisesWithItsDefaults) {
  auto& plugins = test::shipped_plugins();
  ASSERT_TRUE(plugins.refused().empty()) << plugins.refused()[0].file << ": " << plugins.refused()[0].reason;
  ASSERT_FALSE(plugins.all().empty());
  for (const auto* variant : plugins.all()) {
    SCOPED_TRACE(variant->name);
    expect_all_hold(*variant, test::small_dims(), test::default_values(*variant));
  }
}

TEST(Conformance, EveryVariantKeepsItsPromisesInEveryShippedConfig) {
  std::set<std::string> done;
  for (const auto& config : test::shipped_configs()) {
    for (const auto& use : test::uses_in(config)) {
      SCOPED_TRACE(use.where);
      if (done.insert(signature(use)).second) expect_all_hold(*use.component.variant, use.dims, use.component.values);
    }
  }
}

TEST(Conformance, TellsUsesOfShippedConfigsApart) {
  std::set<std::string> seen;
  for (const std::string name : {"alibi", "latent", "latent_plain", "sigmoid", "sliding_window", "softmax", "top_k"}) {
    for (const auto& use : test::uses_in(HEADWRIGHT_SOURCE_DIR "/configs/attention/" + name + ".yaml")) {
      EXPECT_TRUE(seen.insert(signature(use)).second) << use.where << " passes for another one";
    }
  }
  EXPECT_EQ(seen.size(), 7U);
}

TEST(Conformance, SoftmaxKeepsItsPromisesWithEveryMaskHeadsAndMemory) {
  const auto* softmax = test::shipped_plugins().find("softmax");
  ASSERT_NE(softmax, nullptr);
  const auto set = [&](ParamMap values, const std::string& row, const Value& value) {
    for (auto& [name, old] : values) {
      if (name == row) old = value;
    }
    return values;
  };
  auto dims = test::small_dims();
  dims.n_kv_heads = 1;
  dims.d_memory = 6;
  const auto plain = test::default_values(*softmax);
  for (const auto& mask :
       {Mask(), Mask::causal(), Mask::window(3), Mask::all({Mask::window(2), Mask::key_padding()}), Mask::strided(2),
        Mask::any({Mask::causal(), Mask::prefix(2)}), Mask::all({Mask::causal(), Mask::random(1, 2, 3)})}) {
    for (const bool cross : {false, true}) {
      SCOPED_TRACE(mask.to_string() + (cross ? " cross" : ""));
      expect_all_hold(*softmax, dims, set(set(plain, "mask", {mask}), "cross", {cross}));
    }
  }
  const auto causal = set(plain, "mask", {Mask::causal()});
  const std::vector<std::pair<std::string, Value>> changes = {{"modifiers", {std::vector{ScoreModifier::softcap(2)}}},
                                                              {"sink", {true}},
                                                              {"normaliser", {std::string("softmax_one")}},
                                                              {"qk_norm", {std::string("rms")}},
                                                              {"qk_norm", {std::string("l2")}},
                                                              {"scale", {0.3}}};
  for (const auto& [row, value] : changes) {
    SCOPED_TRACE(row);
    expect_all_hold(*softmax, dims, set(causal, row, value));
  }
}

}  // namespace
}  // namespace headwright

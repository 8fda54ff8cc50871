// No option is accepted that another one switches off: whatever a variant's check lets pass changes what is computed.
#include <gtest/gtest.h>

#include "bind/values.h"
#include "check/properties.h"
#include "helpers/components.h"
#include "helpers/variants.h"

namespace headwright {
namespace {

/// "bias beside affine = false", for each option that makes no difference there and is not refused.
std::vector<std::string> without_effect(const check::Subject& subject) {
  std::vector<std::string> found;
  for (const auto& by : subject.variant.params) {
    if (by.type != ParamType::boolean && by.type != ParamType::text) continue;  // what can switch another off
    for (const auto& value : check::candidates(by)) {
      if (check::is_refused(subject, by, value)) continue;
      for (const auto& name : check::without_effect(subject.with(by.name, value))) {
        found.push_back(subject.variant.name + ": " + name + " beside " + by.name + " = " + bind::text_of(value));
      }
    }
  }
  return found;
}

TEST(Options, NoneIsAcceptedThatAnotherSwitchesOff) {
  auto dims = test::small_dims();
  dims.d_memory = 8;
  dims.d_model = 12;
  dims.n_heads = dims.n_kv_heads = 3;  // no power of two
  for (const auto* variant : test::shipped_plugins().all()) {
    EXPECT_EQ(without_effect({*variant, dims, test::default_values(*variant)}), std::vector<std::string>{});
  }
}

TEST(Options, WhatAnotherSwitchesOffIsNamed) {
  const auto said = [](const std::string& name, const ParamMap& params) {
    return test::issues(name, test::small_dims(), params);
  };
  using Said = std::vector<std::string>;
  EXPECT_EQ(said("layer_norm", {{"affine", {false}}}), Said{});
  EXPECT_EQ(said("layer_norm", {{"affine", {false}}, {"bias", {false}}}), Said{});
  EXPECT_EQ(said("layer_norm", {{"affine", {false}}, {"bias", {true}}}),
            Said{"bias: got true, which has no effect with affine: false"});
  EXPECT_EQ(said("multi_head_attention", {{"out_proj", {false}}}), Said{});
  EXPECT_EQ(said("multi_head_attention", {{"out_proj", {false}}, {"out_bias", {true}}}),
            Said{"out_bias: got true, which has no effect with out_proj: false"});
}

}  // namespace
}  // namespace headwright

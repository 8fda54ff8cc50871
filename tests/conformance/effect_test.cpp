// No option is accepted that another one switches off: whatever a variant's check lets pass changes what is computed.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "bind/reader.h"
#include "bind/values.h"
#include "check/subject.h"
#include "helpers/components.h"
#include "helpers/variants.h"
#include "spec/emit.h"

namespace headwright {
namespace {

/// Rows of which every value gives the same result, as their documentation says.
const std::set<std::string> kSameResult{"simple_self_attention.form"};

/// A value that is not the default, and small; nothing where the row is a component or needs a list of its own.
std::vector<Value> other_values(const ParamSpec& row) {
  std::vector<Value> values;
  const auto add = [&](auto value) { values.emplace_back().data = std::move(value); };
  if (row.is_list) return values;
  switch (row.type) {
    case ParamType::boolean:
      add(true);
      add(false);
      break;
    case ParamType::integer:
      for (const std::int64_t number : {2, 3, 6}) add(number);
      break;
    case ParamType::number:
      for (const double number : {0.5, 2.0}) add(number);
      break;
    case ParamType::text:
    case ParamType::number_or_text:
      for (const auto choice : row.limits.choices) {
        if (!choice.empty()) add(std::string(choice));
      }
      break;
    case ParamType::mask:
      add(Mask::window(2));
      break;
    case ParamType::modifiers:
      add(std::vector{ScoreModifier::softcap(0.5)});
      break;
    case ParamType::component:
      break;
  }
  return values;
}

std::string text_of(const Value& value) { return spec::emit_flow(bind::to_node(value, bind::default_mark())); }

bool is_refused(const VariantSpec& variant, const Dims& dims, const ParamMap& values) {
  for (const auto& row : variant.params) {
    const auto& value = find(values, row.name)->data;
    if (const auto* number = std::get_if<double>(&value)) {
      if (*number < row.limits.min || *number > row.limits.max) return true;
      if (row.limits.max_excluded && *number == row.limits.max) return true;
    }
    if (const auto* number = std::get_if<std::int64_t>(&value)) {
      if (double(*number) < row.limits.min || double(*number) > row.limits.max) return true;
    }
  }
  Issues issues;
  variant.check(dims, values, issues);
  return !issues.items().empty();
}

/// What is computed, and with what: the outputs in eval and in training, and the names and shapes of all state.
struct Computed {
  std::map<std::string, std::vector<std::int64_t>> state;
  std::vector<at::Tensor> outputs;
};

Computed computed(const VariantSpec& variant, const Dims& dims, const ParamMap& values) {
  const check::Subject subject(variant, dims, values);
  const auto module = subject.make();
  Computed all;
  for (const auto& item : module->named_parameters()) {
    const at::NoGradGuard no_grad;
    at::manual_seed(static_cast<std::uint64_t>(item->numel()));
    item->normal_();  // a bias that begins as zero shows
    all.state[item.key()] = item->sizes().vec();
  }
  for (const auto& item : module->named_buffers()) all.state[item.key()] = item->sizes().vec();
  auto inputs = subject.draw(2, 40);
  inputs.x = inputs.x * 3;
  for (const bool training : {false, true}) {
    module->train(training);
    at::manual_seed(5);
    all.outputs.push_back(subject.call(*module, inputs).detach());
  }
  return all;
}

bool equal(const Computed& a, const Computed& b) {
  if (a.state != b.state) return false;
  for (std::size_t i = 0; i < a.outputs.size(); ++i) {
    if (a.outputs[i].sizes() != b.outputs[i].sizes() || !a.outputs[i].equal(b.outputs[i])) return false;
  }
  return true;
}

ParamMap changed(ParamMap values, const std::string& row, const Value& value) {
  for (auto& [name, old] : values) {
    if (name == row) old = value;
  }
  return values;
}

/// "bias = true beside affine = false", for each option that makes no difference and is not refused.
std::vector<std::string> without_effect(const VariantSpec& variant, const Dims& dims) {
  std::vector<std::string> found;
  const auto defaults = test::default_values(variant);
  for (const auto& by : variant.params) {
    if (by.type != ParamType::boolean && by.type != ParamType::text) continue;  // what can switch another off
    for (const auto& switched : other_values(by)) {
      const auto base = changed(defaults, by.name, switched);
      if (is_refused(variant, dims, base)) continue;
      const auto without = computed(variant, dims, base);
      const auto usual = variant.effective(dims, base);
      const auto is_usual = [&](const std::string& name, const Value& value) {
        const auto* same = find(usual, name);
        return same != nullptr && text_of(*same) == text_of(value);
      };
      for (const auto& row : variant.params) {
        if (row.name == by.name || kSameResult.contains(variant.name + "." + row.name)) continue;
        bool any = false, differs = false;
        std::string tried;
        for (const auto& value : other_values(row)) {
          if (text_of(value) == text_of(row.default_value) || is_usual(row.name, value)) continue;
          const auto with = changed(base, row.name, value);
          if (is_refused(variant, dims, with)) continue;
          any = true;
          tried = text_of(value);
          differs |= !equal(without, computed(variant, dims, with));
        }
        if (any && !differs) {
          found.push_back(variant.name + ": " + row.name + " = " + tried + " beside " + by.name + " = " +
                          text_of(switched));
        }
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
    SCOPED_TRACE(variant->name);
    EXPECT_EQ(without_effect(*variant, dims), std::vector<std::string>{});
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

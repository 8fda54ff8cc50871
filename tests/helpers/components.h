// The components that shipped configs use, and variants with their defaults, for tests that run over all of them.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "helpers/configs.h"

namespace headwright::test {

/// A component where some config uses it.
struct Use {
  std::string where;  // "configs/models/gpt2_small.yaml: softmax"
  Component component;
  Dims dims;
};

inline std::vector<Use> uses_in(const std::filesystem::path& config) {
  const auto plan = bind::resolve(spec::load(config), shipped_plugins());
  std::vector<Use> uses;
  const auto add = [&](const Component& component, const Dims& dims) {
    if (!component) return;
    uses.push_back(
        {config.lexically_relative(HEADWRIGHT_SOURCE_DIR).string() + ": " + component.variant->name, component, dims});
    uses.back().dims.layer = 0;  // layers of one block differ in nothing else
  };
  const auto add_stack = [&](const bind::StackPlan& stack) {
    if (stack.embedding) add(stack.embedding->position, stack.dims);
    for (const auto& block : stack.blocks) {
      for (const auto& component : {block.attention, block.norm}) add(component, block.dims);
      add(block.cross_attention, block.cross_dims);
      add(block.feed_forward, block.feed_forward_dims());
    }
    add(stack.final_norm, stack.last_dims());
  };
  if (plan.model.encoder) add_stack(*plan.model.encoder);
  add_stack(plan.model);
  return uses;
}

/// Every row at its default; a row that must be given gets a small value.
inline ParamMap default_values(const VariantSpec& variant) {
  ParamMap values;
  for (const auto& row : variant.params) {
    auto value = row.default_value;
    if (row.limits.required && row.type == ParamType::integer) value = {std::int64_t{4}};
    values.emplace_back(row.name, value);
  }
  return values;
}

/// Small sizes that every shipped variant takes.
inline Dims small_dims() { return {.d_model = 8, .n_heads = 2, .n_kv_heads = 2, .d_head = 4, .context_length = 160}; }

}  // namespace headwright::test

// The shipped plugins and configs, for tests that run over all of them.
#pragma once
#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "bind/resolve.h"
#include "registry/registry.h"
#include "spec/load.h"

namespace headwright::testing {

/// The plugins that this build made, none of them trusted from an earlier run.
inline std::unique_ptr<registry::Registry> shipped_plugins() {
  const std::filesystem::path build = HEADWRIGHT_BUILD_DIR;
  return std::make_unique<registry::Registry>(registry::Options{
      .search_path = {build / "plugins"}, .probe = build / "tests/probe_for_tests", .cache_folder = {}});
}

inline std::vector<std::filesystem::path> shipped_configs() {
  const auto folder = std::filesystem::path(HEADWRIGHT_SOURCE_DIR) / "configs";
  std::vector<std::filesystem::path> configs;
  if (!std::filesystem::exists(folder)) return configs;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().extension() == ".yaml") configs.push_back(entry.path());
  }
  std::ranges::sort(configs);
  return configs;
}

/// A component where some config uses it.
struct Use {
  std::string where;  // "configs/models/gpt2_small.yaml: softmax"
  Component component;
  Dims dims;
};

inline std::vector<Use> uses_in(const std::filesystem::path& config, registry::Registry& plugins) {
  const auto plan = bind::resolve(spec::load(config), plugins);
  std::vector<Use> uses;
  const auto add = [&](const Component& component, const Dims& dims) {
    if (!component) return;
    uses.push_back(
        {config.lexically_relative(HEADWRIGHT_SOURCE_DIR).string() + ": " + component.variant->name, component, dims});
    uses.back().dims.layer = 0;  // layers of one block differ in nothing else
  };
  if (plan.model.embedding) add(plan.model.embedding->position, plan.model.dims);
  for (const auto& block : plan.model.blocks) {
    for (const auto& component : {block.attention, block.feed_forward, block.norm}) add(component, block.dims);
  }
  add(plan.model.final_norm, plan.model.dims);
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
inline const Dims kSmallDims{.d_model = 8, .n_heads = 2, .n_kv_heads = 2, .d_head = 4, .context_length = 16};

}  // namespace headwright::testing

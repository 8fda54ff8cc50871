// Configs as text, resolved against the plugins of this build.
#pragma once
#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "bind/resolve.h"
#include "registry/registry.h"
#include "spec/load.h"

namespace headwright::test {

inline registry::Registry& shipped_plugins() {
  static registry::Registry registry({.search_path = {HEADWRIGHT_BUILD_DIR "/plugins"},
                                      .probe = HEADWRIGHT_BUILD_DIR "/runner",
                                      .cache_folder = HEADWRIGHT_BUILD_DIR "/tests/cache"});
  return registry;
}

inline bind::Plan plan_of(const std::string& yaml, const std::vector<std::string>& overrides = {}) {
  auto root = spec::parse(yaml, "a.yaml");
  for (const auto& assignment : overrides) spec::apply_override(root, assignment);
  return bind::resolve(root, shipped_plugins());
}

/// Every problem as text, one a line; empty = the config is valid.
inline std::string problems_of(const std::string& yaml, const std::vector<std::string>& overrides = {}) {
  try {
    plan_of(yaml, overrides);
    return "";
  } catch (const ConfigError& error) {
    return error.what();
  }
}

/// A shipped config, by its path under configs.
inline bind::Plan shipped_plan(const std::string& name, const std::vector<std::string>& overrides = {}) {
  auto root = spec::load(std::filesystem::path(HEADWRIGHT_SOURCE_DIR) / "configs" / name);
  for (const auto& assignment : overrides) spec::apply_override(root, assignment);
  return bind::resolve(root, shipped_plugins());
}

inline std::vector<std::filesystem::path> shipped_configs() {
  std::vector<std::filesystem::path> configs;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(HEADWRIGHT_SOURCE_DIR "/configs")) {
    if (entry.path().extension() == ".yaml") configs.push_back(entry.path());
  }
  std::ranges::sort(configs);
  return configs;
}

}  // namespace headwright::test

// Plans from YAML text, with the shipped plugins.
#pragma once
#include <memory>
#include <string>

#include "bind/resolve.h"
#include "model/build.h"
#include "registry/registry.h"
#include "spec/load.h"

namespace headwright::test {

inline registry::Registry& shipped_plugins() {
  // Never destroyed: models of other tests may outlive it.
  static auto* const registry = new registry::Registry(
      {.search_path = {HEADWRIGHT_BUILD_DIR "/plugins"}, .probe = HEADWRIGHT_BUILD_DIR "/tests/probe_for_tests"});
  return *registry;
}

inline bind::Plan plan_of(const std::string& yaml) {
  return bind::resolve(spec::parse(yaml, "test.yaml"), shipped_plugins());
}

}  // namespace headwright::test

// Node tree x registry -> Plan.
#pragma once
#include <filesystem>
#include <vector>

#include "bind/plan.h"
#include "registry/registry.h"
#include "spec/node.h"

namespace headwright::bind {

/// The config's own `plugins:` list, relative paths seen from the config's folder. Read before there is a registry.
std::vector<std::filesystem::path> plugin_paths(const spec::Node& root);

/// Checks everything and fills in every default. Throws ConfigError with every problem of the file.
Plan resolve(const spec::Node& root, registry::Registry& registry);

}  // namespace headwright::bind

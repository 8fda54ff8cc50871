// The config language as JSON Schema and as markdown, from the same rows that configs are checked with.
#pragma once
#include <nlohmann/json.hpp>
#include <string>

#include "registry/registry.h"

namespace headwright::bind {

/// JSON Schema, draft-07.
nlohmann::ordered_json schema(registry::Registry& registry);

/// Tables of every key of the framework.
std::string markdown();

/// A parameter's type and default as a reader sees them: "integer or null", "0.1".
std::string type_text(const ParamSpec& row);
std::string default_text(const ParamSpec& row);
std::string limits_text(const ParamSpec& row);  // "at least 1", "exact, tanh"; empty = none

}  // namespace headwright::bind

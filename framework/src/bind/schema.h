// The config language as JSON Schema and as markdown, from the same rows that configs are checked with.
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bind/plan.h"
#include "registry/registry.h"
#include "spec/node.h"

namespace headwright::bind {

/// JSON Schema, draft-07.
nlohmann::ordered_json schema(registry::Registry& registry);

/// What a config says, as JSON.
nlohmann::ordered_json as_json(const spec::Node& node);
nlohmann::ordered_json as_json(const Plan& plan);  // with every value

/// Tables of every key of the framework.
std::string markdown();

/// One table of rows.
std::string markdown(const std::vector<ParamSpec>& rows);

/// A text as the cell of a table: '|' would end the cell.
std::string markdown_text(std::string text);

/// A parameter's type and default as a reader sees them: "integer or null", "0.1".
std::string type_text(const ParamSpec& row);
std::string default_text(const ParamSpec& row);
std::string limits_text(const ParamSpec& row);  // "at least 1", "exact, tanh"; empty = none

}  // namespace headwright::bind

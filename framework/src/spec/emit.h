// Node tree -> YAML text that load() reads back to the same tree.
#pragma once
#include <functional>
#include <string>

#include "spec/node.h"

namespace headwright::spec {

/// remark: what is said behind a value, as a comment; empty = nothing.
std::string emit(const Node& root, const std::function<std::string(const Node&)>& remark = {});

/// On one line, for a table or a message: "{all: [causal, {window: 128}]}".
std::string emit_flow(const Node& node);

}  // namespace headwright::spec

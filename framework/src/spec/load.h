// YAML text -> Node tree. Strict: one document, unique keys, no cycles, bounded aliases, UTF-8.
#pragma once
#include <filesystem>
#include <string>
#include <string_view>

#include "spec/node.h"

namespace headwright::spec {

/// Reads a config file. Throws ConfigError: not there, a folder, empty, not UTF-8, not YAML, duplicate keys (naming
/// both lines), cyclic or exploding aliases, a second document, too large.
Node load(const std::filesystem::path& path);

/// The same for text; `file` names it in messages.
Node parse(std::string_view text, const std::string& file);

/// Applies "model.d_model=64": the value is YAML, its place is the option itself ("--set model.d_model=64").
/// A path goes through map keys and list indices; a bare component name on the way becomes {name: ...}.
/// Missing maps are created, so that an unknown key is reported by the same check as in a file. Throws ConfigError.
void apply_override(Node& root, std::string_view assignment);

}  // namespace headwright::spec

// One node -> one parameter value, checked against its row.
#pragma once
#include <optional>
#include <string>

#include "bind/reader.h"
#include "headwright/params.h"

namespace headwright::bind {

/// What reading gave: the value, and the node as the resolved config shows it (components with their defaults).
struct ReadValue {
  Value value;
  spec::Node resolved;
};

/// Reports what is wrong and returns nothing, or returns the value.
std::optional<ReadValue> read_value(Reader& reader, const ParamSpec& row, const spec::Node& node,
                                    const std::string& path);

/// The default of a row that `mark`'s map leaves out: the variant that a default names is looked up.
std::optional<ReadValue> read_default(Reader& reader, const ParamSpec& row, const spec::Mark& mark,
                                      const std::string& path);

/// A component: a bare name, or a map with `name` and its parameters. usual: the variant of a map without a name;
/// empty = it has to name one.
std::optional<ReadValue> read_component(Reader& reader, Kind kind, const spec::Node& node, const std::string& path,
                                        std::string_view usual = {});

/// masks.cpp: a mask, and a list of score modifiers.
std::optional<Mask> read_mask(Reader& reader, const spec::Node& node, const std::string& path);
std::optional<std::vector<ScoreModifier>> read_modifiers(Reader& reader, const spec::Node& node,
                                                         const std::string& path);

/// masks.cpp: the same, as one would write them.
spec::Node mask_node(const Mask& mask, const spec::Mark& mark);
spec::Node modifiers_node(const std::vector<ScoreModifier>& modifiers, const spec::Mark& mark);

/// "an integer from 1 to 10,000", "one of exact, tanh", "a list of integers, each at least 0"
std::string expected_text(const ParamSpec& row);

/// A value as one would write it in a config, and on one line: "3", "[3]", "{window: 2}".
spec::Node to_node(const Value& value, const spec::Mark& mark);
std::string text_of(const Value& value);

}  // namespace headwright::bind

// Reads one value by the type and the limits of its row, and says in words what was expected.
#include "bind/values.h"

#include <algorithm>
#include <cmath>

#include "bind/hints.h"
#include "bind/rows.h"
#include "spec/emit.h"
#include "spec/scalars.h"
#include "support/text.h"

namespace headwright::bind {
namespace {

using spec::Node;

std::string noun(const ParamSpec& row) {
  switch (row.type) {
    case ParamType::boolean:
      return "true or false";
    case ParamType::integer:
      return "an integer";
    case ParamType::number:
    case ParamType::number_or_text:
      return "a number";
    case ParamType::text:
      return "a text";
    case ParamType::mask:
      return "a mask";
    case ParamType::modifiers:
      return "a list of score modifiers";
    case ParamType::component:
      break;
  }
  return "the name of " + with_article(row.limits.kind) + ", or a map with its name and parameters";
}

std::string limits_text(const Limits& limits) {
  const bool low = std::isfinite(limits.min), high = std::isfinite(limits.max);
  const auto min = support::number_text(limits.min), max = support::number_text(limits.max);
  if (low && high && !limits.min_excluded && !limits.max_excluded) return " from " + min + " to " + max;
  std::string text;
  if (low) text += (limits.min_excluded ? " greater than " : " of at least ") + min;
  if (high) text += (low ? " and" : "") + std::string(limits.max_excluded ? " less than " : " of at most ") + max;
  return text;
}

std::vector<std::string> choices_of(const Limits& limits) {
  std::vector<std::string> choices;
  for (const auto choice : limits.choices) {
    if (!choice.empty()) choices.emplace_back(choice);
  }
  return choices;
}

std::string one_text(const ParamSpec& row) {
  const auto choices = choices_of(row.limits);
  if (choices.empty()) return noun(row) + limits_text(row.limits);
  const auto choice = (choices.size() == 1 ? "" : "one of ") + support::join(choices, ", ");
  if (row.type == ParamType::number_or_text) return noun(row) + limits_text(row.limits) + ", or " + choice;
  return "one of " + support::join(choices, ", ");
}

bool within(const Limits& limits, double number) {
  if (number < limits.min || (limits.min_excluded && number == limits.min)) return false;
  return number < limits.max || (!limits.max_excluded && number == limits.max);
}

void refuse(Reader& reader, const ParamSpec& row, const Node& node, const std::string& path, const std::string& got) {
  reader.report(node.mark, path, "got " + got + ", expected " + expected_text(row));
}

template <class T>
std::optional<Value> checked(Reader& reader, const ParamSpec& row, const Node& node, const std::string& path,
                             const spec::Read<T>& read) {
  if (!read.value) {
    reader.report(node.mark, path, read.message);
    return {};
  }
  if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) {
    if (!within(row.limits, static_cast<double>(*read.value))) {
      refuse(reader, row, node, path, node.text);
      return {};
    }
  }
  return Value{*read.value};
}

std::optional<Value> read_text(Reader& reader, const ParamSpec& row, const Node& node, const std::string& path) {
  const auto read = spec::as_text(node);
  const auto choices = choices_of(row.limits);
  if (choices.empty() || (read.value && std::ranges::find(choices, *read.value) != choices.end())) {
    return checked(reader, row, node, path, read);
  }
  const auto meant = support::nearest(node.text, choices);
  reader.report(node.mark, path, "got " + node.what() + ", expected " + one_text(row), meant.value_or(""));
  return {};
}

/// A number is one whatever the choices are; anything else is meant as one of them.
std::optional<Value> read_number_or_text(Reader& reader, const ParamSpec& row, const Node& node,
                                         const std::string& path) {
  const auto number = spec::as_number(node);
  return number.value ? checked(reader, row, node, path, number) : read_text(reader, row, node, path);
}

std::optional<Value> read_single(Reader& reader, const ParamSpec& row, const Node& node, const std::string& path) {
  if (node.type != Node::Type::scalar || spec::is_null(node)) {
    refuse(reader, row, node, path, node.what());
    return {};
  }
  switch (row.type) {
    case ParamType::boolean:
      return checked(reader, row, node, path, spec::as_bool(node));
    case ParamType::integer:
      return checked(reader, row, node, path, spec::as_integer(node));
    case ParamType::number:
      return checked(reader, row, node, path, spec::as_number(node));
    case ParamType::number_or_text:
      return read_number_or_text(reader, row, node, path);
    default:
      return read_text(reader, row, node, path);
  }
}

std::optional<ReadValue> read_list(Reader& reader, const ParamSpec& row, const Node& node, const std::string& path) {
  if (node.type != Node::Type::list) {
    refuse(reader, row, node, path, node.what());
    return {};
  }
  ParamSpec element = row;
  element.is_list = element.is_optional = false;
  std::vector<Value> values;
  for (std::size_t i = 0; i < node.items.size(); ++i) {
    if (auto value = read_single(reader, element, node.items[i], below(path, std::to_string(i)))) {
      values.push_back(std::move(*value));
    }
  }
  if (values.size() != node.items.size()) return {};
  return ReadValue{{std::move(values)}, node};
}

bool absent_allowed(const ParamSpec& row) {
  return row.is_optional || row.type == ParamType::component || row.type == ParamType::mask;
}

/// What null means, whatever the default is: no value, no mask, no component.
Value none_of(const ParamSpec& row) {
  if (row.is_optional) return {};
  return row.type == ParamType::mask ? Value{Mask()} : Value{Component()};
}

/// The `name` of a component's map; null and reported where it is missing or no text.
const Node* find_name(Reader& reader, Kind kind, const Node& map, const std::string& path) {
  const Node* name = map.find("name");
  if (name != nullptr && spec::as_text(*name).value) return name;
  const auto expected = "expected the name of " + with_article(kind) + "; " + reader.registry.what_is_known(kind);
  if (name != nullptr) {
    reader.report(name->mark, below(path, "name"), "got " + name->what() + ", " + expected);
    return nullptr;
  }
  for (const auto& entry : map.entries) {
    const std::vector<std::string> known{"name"};
    const auto place = below(path, support::printable(entry.key));
    if (hint_for(entry.key, known, path).suggestion.empty()) continue;
    reader.report(entry.key_mark, place, "no 'name' stands beside it, " + expected, "name");
    return nullptr;
  }
  reader.report(map.mark, path, "no 'name', " + expected);
  return nullptr;
}

/// Wraps what a reader without a resolved form returned.
template <class T>
std::optional<ReadValue> with_node(std::optional<T> value, const Node& node) {
  if (!value) return {};
  return ReadValue{Value{std::move(*value)}, node};
}

/// With its own defaults where they are known.
Node component_node(const Component& component, const spec::Mark& mark) {
  if (!component) return component.name.empty() ? null_node(mark) : scalar_node(component.name, false, mark);
  Node map = map_node(mark);
  set(map, "name", scalar_node(component.variant->name, false, mark));
  for (const auto& [name, value] : component.values) set(map, name, to_node(value, mark));
  return map;
}

}  // namespace

std::string expected_text(const ParamSpec& row) {
  std::string text = one_text(row);
  if (row.is_list) {
    ParamSpec element = row;
    element.is_list = element.is_optional = false;
    text = "a list, each element " + one_text(element);
  }
  return row.is_optional ? text + ", or null" : text;
}

std::optional<ReadValue> read_value(Reader& reader, const ParamSpec& row, const Node& node, const std::string& path) {
  if (absent_allowed(row) && spec::is_null(node)) return ReadValue{none_of(row), node};
  if (row.is_list) return read_list(reader, row, node, path);
  switch (row.type) {
    case ParamType::component:
      return read_component(reader, row.limits.kind, node, path, row.limits.usual);
    case ParamType::mask:
      return with_node(read_mask(reader, node, path), node);
    case ParamType::modifiers:
      return with_node(read_modifiers(reader, node, path), node);
    default:
      break;
  }
  auto value = read_single(reader, row, node, path);
  if (!value) return {};
  return ReadValue{std::move(*value), node};
}

std::optional<ReadValue> read_default(Reader& reader, const ParamSpec& row, const spec::Mark& mark,
                                      const std::string& path) {
  const auto* component = std::get_if<Component>(&row.default_value.data);
  if (component == nullptr || *component || component->name.empty()) {
    return ReadValue{row.default_value, to_node(row.default_value, default_mark())};
  }
  // A name says where it stands only while it is looked up: what it stands for is a default.
  const auto* variant = find_variant(reader, row.limits.kind, scalar_node(component->name, false, mark), path);
  if (variant == nullptr) return {};
  constexpr int kDeepest = 16;
  if (reader.n_defaults_open >= kDeepest) {
    reader.report(mark, path, "the defaults of components name each other without end; name one here");
    return {};
  }
  ++reader.n_defaults_open;
  auto read = read_component(reader, row.limits.kind, scalar_node(component->name, false, default_mark()), path);
  --reader.n_defaults_open;
  return read;
}

std::optional<ReadValue> read_component(Reader& reader, Kind kind, const Node& node, const std::string& path,
                                        std::string_view usual) {
  const bool bare = spec::as_text(node).value.has_value();
  if (!bare && node.type != Node::Type::map) {
    refuse(reader, {.type = ParamType::component, .limits = component_of(kind)}, node, path, node.what());
    return {};
  }
  const Node usual_name = scalar_node(std::string(usual), false, default_mark());
  const bool named = bare || usual.empty() || node.find("name") != nullptr;
  const Node* name = bare ? &node : named ? find_name(reader, kind, node, path) : &usual_name;
  if (name == nullptr) return {};
  const auto* variant = find_variant(reader, kind, *name, bare ? path : below(path, "name"));
  if (variant == nullptr) return {};
  Node resolved = map_node(node.mark);
  set(resolved, "name", *name);
  const Rows rows{variant->params, {"name"}, "parameter of '" + variant->name + "'"};
  auto read = read_rows(reader, rows, bare ? map_node(node.mark) : node, path, resolved);
  if (!read.whole) return {};
  return ReadValue{Value{Component{variant, std::move(read.values)}}, std::move(resolved)};
}

spec::Node to_node(const Value& value, const spec::Mark& mark) {
  struct ToNode {
    const spec::Mark& mark;
    Node operator()(std::monostate) const { return null_node(mark); }
    Node operator()(bool flag) const { return scalar_node(flag ? "true" : "false", false, mark); }
    Node operator()(std::int64_t number) const { return scalar_node(std::to_string(number), false, mark); }
    Node operator()(double number) const { return scalar_node(support::number_text(number), false, mark); }
    Node operator()(const std::string& text) const { return scalar_node(text, true, mark); }
    Node operator()(const Mask& mask) const { return mask_node(mask, mark); }
    Node operator()(const Component& component) const { return component_node(component, mark); }
    Node operator()(const std::vector<ScoreModifier>& modifiers) const { return modifiers_node(modifiers, mark); }
    Node operator()(const std::vector<Value>& values) const {
      Node list{.type = Node::Type::list, .mark = mark};
      for (const auto& element : values) list.items.push_back(to_node(element, mark));
      return list;
    }
  };
  return std::visit(ToNode{mark}, value.data);
}

std::string text_of(const Value& value) { return spec::emit_flow(to_node(value, default_mark())); }

}  // namespace headwright::bind

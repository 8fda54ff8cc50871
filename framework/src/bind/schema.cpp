// Prints the rows of sections and variants as JSON Schema.
#include "bind/schema.h"

#include <cmath>

#include "bind/tables.h"
#include "bind/values.h"
#include "headwright/attend.h"
#include "headwright/mask_kinds.h"
#include "spec/scalars.h"

namespace headwright::bind {
namespace {

using Json = nlohmann::ordered_json;

Json reference(const std::string& name) { return {{"$ref", "#/definitions/" + name}}; }

/// Whole numbers are written as such, so that an editor shows 1 and not 1.0.
Json number(double value) {
  if (value == std::floor(value) && std::abs(value) < 1e15) return static_cast<std::int64_t>(value);
  return value;
}

/// What the limits of a number say, added to its type.
void bound(Json& type, const Limits& limits) {
  if (std::isfinite(limits.min)) type[limits.min_excluded ? "exclusiveMinimum" : "minimum"] = number(limits.min);
  if (std::isfinite(limits.max)) type[limits.max_excluded ? "exclusiveMaximum" : "maximum"] = number(limits.max);
}

Json text(const Limits& limits) {
  Json type = {{"type", "string"}};
  for (const auto choice : limits.choices) {
    if (!choice.empty()) type["enum"].push_back(choice);
  }
  return type;
}

Json single(const ParamSpec& row) {
  Json type;
  switch (row.type) {
    case ParamType::boolean:
      return {{"type", "boolean"}};
    case ParamType::integer:
      type = {{"type", "integer"}};
      break;
    case ParamType::number:
      type = {{"type", "number"}};
      break;
    case ParamType::text:
      return text(row.limits);
    case ParamType::number_or_text:
      type = {{"type", "number"}};
      bound(type, row.limits);
      return {{"anyOf", {std::move(type), text(row.limits)}}};
    case ParamType::mask:
      return {{"anyOf", {reference("mask"), {{"type", "null"}}}}};
    case ParamType::modifiers:
      return {{"type", "array"}, {"items", reference("modifier")}};
    case ParamType::component:
      return {{"anyOf", {reference(std::string(to_string(row.limits.kind))), {{"type", "null"}}}}};
  }
  bound(type, row.limits);
  return type;
}

Json property(const ParamSpec& row) {
  Json type = single(row);
  if (row.is_list) type = {{"type", "array"}, {"items", std::move(type)}};
  if (row.is_optional) type = {{"anyOf", {std::move(type), {{"type", "null"}}}}};
  type["description"] = row.doc;
  if (!row.limits.required) type["default"] = as_json(to_node(row.default_value, default_mark()));
  return type;
}

Json object(const std::vector<ParamSpec>& rows) {
  Json schema = {{"type", "object"}, {"additionalProperties", false}, {"properties", Json::object()}};
  for (const auto& row : rows) {
    schema["properties"][row.name] = property(row);
    if (row.limits.required) schema["required"].push_back(row.name);
  }
  return schema;
}

/// A table's object, its structures filled in by name.
Json object(const Table& table, const std::map<std::string, Json>& structures) {
  Json schema = object(table.rows);
  for (const auto& [key, doc, required] : table.structures) {
    Json part = structures.at(std::string(key));
    part["description"] = doc;
    schema["properties"][std::string(key)] = std::move(part);
    if (required) schema["required"].push_back(key);
  }
  return schema;
}

/// The variant that a map of this kind means without a name; empty = none.
std::string usual_of(Kind kind) {
  for (const auto& row : model_table().rows) {
    if (row.type == ParamType::component && row.limits.kind == kind) return std::string(row.limits.usual);
  }
  return "";
}

/// A bare name, or a map of the name and its parameters.
Json component(registry::Registry& registry, Kind kind) {
  Json choices = Json::array();
  choices.push_back({{"type", "string"}, {"enum", registry.names(kind)}});
  for (const auto* variant : registry.all()) {
    if (variant->kind != kind) continue;
    Json schema = object(variant->params);
    schema["description"] = variant->summary;
    schema["properties"]["name"] = {{"const", variant->name}};
    if (variant->name != usual_of(kind)) schema["required"].push_back("name");
    choices.push_back(std::move(schema));
  }
  return {{"anyOf", std::move(choices)}};
}

/// Named kinds with rows: "causal", {window: 128}, {window: {size: 128}}.
template <class Kinds>
Json named(const Kinds& kinds) {
  Json bare = Json::array(), choices = Json::array();
  const auto one_key = [&](const std::string& name, Json value) {
    choices.push_back({{"type", "object"},
                       {"additionalProperties", false},
                       {"required", {name}},
                       {"properties", {{name, std::move(value)}}}});
  };
  for (const auto& kind : kinds) {
    bool needs_value = false;
    for (const auto& row : kind.params) needs_value |= row.limits.required;
    if (!needs_value) bare.push_back(kind.name);
    Json value = object(kind.params);
    value["description"] = kind.doc;
    if (kind.params.size() == 1) value = {{"anyOf", {std::move(value), property(kind.params.front())}}};
    if (!needs_value) value = {{"anyOf", {std::move(value), {{"type", "null"}}}}};
    one_key(kind.name, std::move(value));
  }
  if (!bare.empty()) choices.push_back({{"type", "string"}, {"enum", bare}});
  return choices;
}

Json mask() {
  Json choices = named(mask_kinds());
  const Json list = {{"type", "array"}, {"minItems", 1}, {"items", reference("mask")}};
  for (const auto& [name, value] :
       std::initializer_list<std::pair<std::string, Json>>{{"all", list}, {"any", list}, {"not", reference("mask")}}) {
    choices.push_back(
        {{"type", "object"}, {"additionalProperties", false}, {"required", {name}}, {"properties", {{name, value}}}});
  }
  return {{"anyOf", std::move(choices)}};
}

/// Lists of `element`, nested `depth` times.
Json nested(const std::string& element, int depth) {
  Json schema = {{"type", element}};
  for (int i = 0; i < depth; ++i) schema = {{"type", "array"}, {"items", std::move(schema)}};
  return schema;
}

Json optional_section(Json section) { return {{"anyOf", {std::move(section), {{"type", "null"}}}}}; }

Json layers() {
  Json entry = object(layer_table().rows);
  entry["oneOf"] = {{{"required", {"use"}}}, {{"required", {"pattern"}}}};
  return {{"type", "array"}, {"minItems", 1}, {"items", {{"anyOf", {{{"type", "string"}}, std::move(entry)}}}}};
}

Json blocks() { return {{"type", "object"}, {"minProperties", 1}, {"additionalProperties", reference("block")}}; }

Json positions() { return optional_section(object(positions_table().rows)); }

Json encoder() {
  return object(encoder_table(), {{"positions", positions()}, {"blocks", blocks()}, {"layers", layers()}});
}

Json model() {
  return object(model_table(), {{"positions", positions()},
                                {"encoder", optional_section(encoder())},
                                {"blocks", blocks()},
                                {"layers", layers()}});
}

Json block() {
  const Json sublayers = {{"type", "array"}, {"minItems", 1}, {"items", object(sublayer_table().rows)}};
  return object(block_table(), {{"sublayers", sublayers}});
}

Json input(const Table& table) {
  Json file = object(ids_table().rows);
  file["required"] = {"file"};
  const Json ids = {{"anyOf", {nested("integer", 2), std::move(file)}}};
  std::map<std::string, Json> structures{{"values", nested("number", 3)},
                                         {"tokens", nested("integer", 2)},
                                         {"random", object(random_table().rows)},
                                         {"lengths", nested("integer", 1)},
                                         {"key_mask", nested("boolean", 2)},
                                         {"memory", reference("memory")},
                                         {"document_ids", ids},
                                         {"positions", ids},
                                         {"token_types", ids}};
  return object(table, structures);
}

}  // namespace

Json as_json(const spec::Node& node) {
  switch (node.type) {
    case spec::Node::Type::null:
      return nullptr;
    case spec::Node::Type::list: {
      auto list = Json::array();
      for (const auto& item : node.items) list.push_back(as_json(item));
      return list;
    }
    case spec::Node::Type::map: {
      auto object = Json::object();
      for (const auto& [key, mark, value] : node.entries) object[key] = as_json(value);
      return object;
    }
    case spec::Node::Type::scalar:
      break;
  }
  if (spec::is_null(node)) return nullptr;
  if (const auto flag = spec::as_bool(node); flag.value) return *flag.value;
  if (const auto integer = spec::as_integer(node); integer.value) return *integer.value;
  if (const auto number = spec::as_number(node); number.value) return *number.value;
  return node.text;
}

Json as_json(const Plan& plan) { return as_json(plan.resolved); }

Json schema(registry::Registry& registry) {
  Json root = object(top_table(), {{"model", reference("model")},
                                   {"run", optional_section(object(run_table().rows))},
                                   {"input", optional_section(input(input_table()))}});
  Json schema = {{"$schema", "http://json-schema.org/draft-07/schema#"}, {"title", "headwright config"}};
  schema.update(root);
  auto& definitions = schema["definitions"];
  definitions["model"] = model();
  definitions["block"] = block();
  for (const auto kind : kKinds) definitions[std::string(to_string(kind))] = component(registry, kind);
  definitions["mask"] = mask();
  definitions["modifier"] = {{"anyOf", named(modifier_kinds())}};
  definitions["memory"] = input(memory_table());
  return schema;
}

}  // namespace headwright::bind

// Masks and score modifiers in YAML: a bare name, or a map of one name to its parameters.
#include <algorithm>

#include "bind/rows.h"
#include "bind/values.h"
#include "headwright/mask_kinds.h"
#include "spec/scalars.h"
#include "support/text.h"

namespace headwright::bind {
namespace {

using spec::Node;

template <class Kind>
std::vector<std::string> names_of(const std::vector<Kind>& kinds) {
  std::vector<std::string> names;
  for (const auto& kind : kinds) names.push_back(kind.name);
  return names;
}

/// "causal", or {window: {size: 128}}, or {window: 128} where the kind has one row: the name's node and the rest.
struct Named {
  std::string name;
  spec::Mark mark;
  const Node* rest = nullptr;  // null = a bare name
};

std::optional<Named> named(Reader& reader, const Node& node, const std::string& path, const std::string& expected) {
  if (node.type == Node::Type::scalar && !spec::is_null(node)) return Named{node.text, node.mark};
  if (node.type == Node::Type::map && node.entries.size() == 1) {
    const auto& entry = node.entries.front();
    return Named{entry.key, entry.key_mark, &entry.value};
  }
  auto message = "got " + node.what() + ", expected " + expected;
  if (node.entries.size() > 1) message = "got several names in one map, expected " + expected;
  reader.report(node.mark, path, message);
  return {};
}

/// The parameters of a mask or modifier kind.
std::optional<ParamMap> parameters(Reader& reader, const std::vector<ParamSpec>& rows, const Named& named_node,
                                   const std::string& path) {
  const auto inner = below(path, named_node.name);
  Node resolved = map_node(named_node.mark);
  const Node* rest = named_node.rest;
  if (rest != nullptr && rest->type == Node::Type::scalar && rows.size() == 1) {
    auto read = read_value(reader, rows.front(), *rest, inner);
    if (!read) return {};
    return ParamMap{{rows.front().name, std::move(read->value)}};
  }
  const Node empty = map_node(named_node.mark);
  if (rest != nullptr && !spec::is_null(*rest) && !expect_map(reader, *rest, inner, "a map of its parameters"))
    return {};
  const bool given = rest != nullptr && rest->type == Node::Type::map;
  auto read =
      read_rows(reader, {rows, {}, "parameter of '" + named_node.name + "'"}, given ? *rest : empty, inner, resolved);
  if (!read.whole) return {};
  return std::move(read.values);
}

std::optional<std::vector<Mask>> parts_of(Reader& reader, const Node* rest, const Named& combined,
                                          const std::string& path) {
  if (rest == nullptr || rest->type != Node::Type::list || rest->items.empty()) {
    reader.report(rest == nullptr ? combined.mark : rest->mark, path, "expected a list of one mask or more");
    return {};
  }
  std::vector<Mask> parts;
  for (std::size_t i = 0; i < rest->items.size(); ++i) {
    if (auto part = read_mask(reader, rest->items[i], below(path, std::to_string(i)))) parts.push_back(*part);
  }
  if (parts.size() != rest->items.size()) return {};
  return parts;
}

template <class Kind>
const Kind* kind_called(Reader& reader, const std::vector<Kind>& kinds, const Named& wanted, const std::string& path,
                        const std::string& what, const std::vector<std::string>& also) {
  const auto found = std::ranges::find(kinds, wanted.name, &Kind::name);
  if (found != kinds.end()) return &*found;
  auto known = names_of(kinds);
  known.insert(known.end(), also.begin(), also.end());
  auto message =
      "no " + what + " is called '" + support::printable(wanted.name) + "' (known: " + support::join(known, ", ") + ")";
  if (const auto* variant = reader.registry.find(wanted.name)) {
    message += "; write " + std::string(to_string(variant->kind)) + ": " + variant->name;
  }
  reader.report(wanted.mark, path, message, support::nearest(wanted.name, known).value_or(""));
  return nullptr;
}

Node one_key(const std::string& key, Node value, const spec::Mark& mark) {
  Node map = map_node(mark);
  set(map, key, std::move(value));
  return map;
}

/// causal, {window: 128}, {dilated: {size: 3, dilation: 2}}
Node call_node(const std::string& kind, const ParamMap& values, const spec::Mark& mark) {
  if (values.empty()) return scalar_node(kind, false, mark);
  if (values.size() == 1) return one_key(kind, to_node(values.front().second, mark), mark);
  Node parameters = map_node(mark);
  for (const auto& [name, value] : values) {
    if (!std::holds_alternative<std::monostate>(value.data)) set(parameters, name, to_node(value, mark));
  }
  return one_key(kind, std::move(parameters), mark);
}

Node form_node(const Mask& mask, const spec::Mark& mark) {
  const auto [kind, values, parts] = mask.form();
  if (parts.empty()) return call_node(kind, values, mark);
  if (kind == "not") return one_key(kind, form_node(parts.front(), mark), mark);
  Node list{.type = Node::Type::list, .mark = mark};
  for (const auto& part : parts) list.items.push_back(form_node(part, mark));
  return one_key(kind, std::move(list), mark);
}

}  // namespace

std::optional<Mask> read_mask(Reader& reader, const Node& node, const std::string& path) {
  const auto name = named(reader, node, path,
                          "the name of a mask, or a map of one name to its parameters; {all: [...]} combines masks");
  if (!name) return {};
  const auto inner = below(path, name->name);
  if (name->name == "all" || name->name == "any") {
    auto parts = parts_of(reader, name->rest, *name, inner);
    if (!parts) return {};
    return name->name == "all" ? Mask::all(std::move(*parts)) : Mask::any(std::move(*parts));
  }
  if (name->name == "not") {
    if (name->rest == nullptr) {
      reader.report(name->mark, inner, "expected a mask");
      return {};
    }
    auto part = read_mask(reader, *name->rest, inner);
    if (!part) return {};
    return Mask::negation(std::move(*part));
  }
  const auto* kind = kind_called(reader, mask_kinds(), *name, path, "mask", {"all", "any", "not"});
  if (kind == nullptr) return {};
  const auto values = parameters(reader, kind->params, *name, path);
  if (!values) return {};
  try {
    return kind->make(*values);
  } catch (const Error& error) {  // values that do not fit together
    reader.report(name->mark, inner, error.what());
    return {};
  }
}

spec::Node mask_node(const Mask& mask, const spec::Mark& mark) {
  return mask.sees_everything() ? null_node(mark) : form_node(mask, mark);
}

spec::Node modifiers_node(const std::vector<ScoreModifier>& modifiers, const spec::Mark& mark) {
  Node list{.type = Node::Type::list, .mark = mark};
  for (const auto& modifier : modifiers) {
    const auto [kind, values] = modifier.form();
    list.items.push_back(call_node(kind, values, mark));
  }
  return list;
}

std::optional<std::vector<ScoreModifier>> read_modifiers(Reader& reader, const Node& node, const std::string& path) {
  if (node.type != Node::Type::list) {
    reader.report(node.mark, path,
                  "got " + node.what() + ", expected a list of score modifiers, such as [{ softcap: 50 }]");
    return {};
  }
  std::vector<ScoreModifier> modifiers;
  for (std::size_t i = 0; i < node.items.size(); ++i) {
    const auto place = below(path, std::to_string(i));
    const auto name = named(reader, node.items[i], place, "a map of one modifier to its parameters");
    const auto* kind = name ? kind_called(reader, modifier_kinds(), *name, place, "score modifier", {}) : nullptr;
    const auto values = kind != nullptr && name ? parameters(reader, kind->params, *name, place) : std::nullopt;
    if (values) modifiers.push_back(kind->make(*values));
  }
  if (modifiers.size() != node.items.size()) return {};
  return modifiers;
}

}  // namespace headwright::bind

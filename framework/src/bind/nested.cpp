// Flattens nested lists, and reports the place where they are ragged.
#include "bind/nested.h"

#include "spec/scalars.h"

namespace headwright::bind {
namespace {

using spec::Node;

template <class T>
bool take(Reader& reader, const Node& node, const std::string& path, const spec::Read<T>& read, Nested& nested) {
  if (!read.value) {
    reader.report(node.mark, path, read.message);
    return false;
  }
  nested.values.push_back(static_cast<double>(*read.value));
  return true;
}

bool read_element(Reader& reader, const Node& node, const std::string& path, Element element, Nested& nested) {
  switch (element) {
    case Element::integer:
      return take(reader, node, path, spec::as_integer(node), nested);
    case Element::boolean:
      return take(reader, node, path, spec::as_bool(node), nested);
    case Element::number:
      break;
  }
  return take(reader, node, path, spec::as_number(node), nested);
}

/// The first list at each depth fixes the shape; every other one must agree.
bool read_level(Reader& reader, const Node& node, const std::string& path, std::size_t depth, Element element,
                Nested& nested) {
  if (node.type != Node::Type::list) {
    if (depth == nested.shape.size()) return read_element(reader, node, path, element, nested);
    reader.report(node.mark, path, "got " + node.what() + ", expected a list as beside it");
    return false;
  }
  const auto size = static_cast<std::int64_t>(node.items.size());
  if (depth == nested.shape.size()) {
    if (!nested.values.empty()) {
      reader.report(node.mark, path, "got a list, expected a single value as beside it");
      return false;
    }
    nested.shape.push_back(size);
  } else if (nested.shape[depth] != size) {
    reader.report(node.mark, path,
                  "got " + std::to_string(size) + " elements, expected " + std::to_string(nested.shape[depth]) +
                      " as in the first list beside it");
    return false;
  }
  for (std::size_t i = 0; i < node.items.size(); ++i) {
    if (!read_level(reader, node.items[i], below(path, std::to_string(i)), depth + 1, element, nested)) return false;
  }
  return true;
}

}  // namespace

std::optional<Nested> read_nested(Reader& reader, const Node& node, const std::string& path, Element element) {
  Nested nested;
  if (node.type != Node::Type::list) {
    reader.report(node.mark, path, "got " + node.what() + ", expected nested lists");
    return {};
  }
  if (!read_level(reader, node, path, 0, element, nested)) return {};
  return nested;
}

}  // namespace headwright::bind

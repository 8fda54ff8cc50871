// Collects problems, and makes nodes for the resolved config.
#include "bind/reader.h"

#include "spec/scalars.h"

namespace headwright::bind {

void Reader::report(const spec::Mark& mark, const std::string& path, const std::string& message,
                    const std::string& suggestion) {
  problems.push_back({mark.file, mark.line, mark.column, path, message, suggestion});
}

std::string below(const std::string& path, const std::string& key) { return path.empty() ? key : path + "." + key; }

spec::Mark default_mark() { return {.file = "default"}; }

const spec::Mark& mark_of(const spec::Node& map, const std::string& key) {
  const auto* node = map.find(key);
  return node == nullptr ? map.mark : node->mark;
}

bool given(const spec::Node& map, const std::string& key) {
  const auto* value = map.find(key);
  return value != nullptr && !spec::is_null(*value);
}

spec::Node scalar_node(std::string text, bool quoted, const spec::Mark& mark) {
  return {.type = spec::Node::Type::scalar, .text = std::move(text), .quoted = quoted, .mark = mark};
}

spec::Node null_node(const spec::Mark& mark) { return {.type = spec::Node::Type::null, .mark = mark}; }

spec::Node map_node(const spec::Mark& mark) { return {.type = spec::Node::Type::map, .mark = mark}; }

void drop_absent(spec::Node& map) {
  std::erase_if(map.entries, [](const spec::Entry& entry) {
    return entry.value.type == spec::Node::Type::null && entry.value.mark.file == default_mark().file;
  });
}

void set(spec::Node& map, const std::string& key, spec::Node value) {
  if (auto* existing = map.find(key)) {
    *existing = std::move(value);
  } else {
    const auto mark = value.mark;
    map.entries.push_back({key, mark, std::move(value)});
  }
}

}  // namespace headwright::bind

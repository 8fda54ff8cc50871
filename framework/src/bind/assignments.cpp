// Reads assignments as a config would read the same keys and values.
#include "bind/assignments.h"

#include "spec/load.h"

namespace headwright::bind {

Assignments::Assignments(registry::Registry& registry, const std::vector<std::string>& texts)
    : reader_{registry, {}}, given_(map_node({.file = "--set"})) {
  for (const auto& text : texts) spec::apply_override(given_, text);
}

ParamMap Assignments::read(const Rows& rows) {
  auto resolved = map_node(default_mark());
  auto values = read_rows(reader_, rows, given_, "", resolved).values;
  throw_problems();
  return values;
}

void Assignments::report(const std::string& key, const std::string& message, const std::string& suggestion) {
  const auto* value = given_.find(key.substr(0, key.find('.')));
  reader_.report(value == nullptr ? given_.mark : value->mark, key, message, suggestion);
}

void Assignments::throw_problems() const {
  if (!reader_.problems.empty()) throw ConfigError(reader_.problems);
}

}  // namespace headwright::bind

// Rows as a reader sees them.
#include <cmath>

#include "bind/schema.h"
#include "bind/tables.h"
#include "bind/values.h"
#include "headwright/mask_kinds.h"
#include "spec/emit.h"
#include "support/text.h"

namespace headwright::bind {
namespace {

std::string row_text(const ParamSpec& row) {
  const auto limits = limits_text(row);
  return "| `" + row.name + "` | " + type_text(row) + (limits.empty() ? "" : ", " + limits) + " | " +
         (row.limits.required ? "required" : "`" + default_text(row) + "`") + " | " + markdown_text(row.doc) + " |\n";
}

std::string table_text(const std::vector<ParamSpec>& rows, const std::vector<Structure>& structures) {
  std::string text = "| key | type | default | meaning |\n| --- | --- | --- | --- |\n";
  for (const auto& row : rows) text += row_text(row);
  for (const auto& [key, doc, required] : structures) {
    text += "| `" + std::string(key) + "` | a structure | " + (required ? "required" : "absent") + " | " +
            std::string(doc) + " |\n";
  }
  return text;
}

template <class Kinds>
std::string kinds_text(const Kinds& kinds) {
  std::string text = "| name | parameters | meaning |\n| --- | --- | --- |\n";
  for (const auto& kind : kinds) {
    std::vector<std::string> parameters;
    for (const auto& row : kind.params) parameters.push_back("`" + row.name + "`: " + row.doc);
    text += "| `" + kind.name + "` | " + support::join(parameters, "; ") + " | " + kind.doc + " |\n";
  }
  return text;
}

}  // namespace

std::string type_text(const ParamSpec& row) {
  std::string name;
  switch (row.type) {
    case ParamType::boolean:
      name = "bool";
      break;
    case ParamType::integer:
      name = "integer";
      break;
    case ParamType::number:
      name = "number";
      break;
    case ParamType::text:
      name = row.limits.choices[0].empty() ? "text" : "choice";
      break;
    case ParamType::number_or_text:
      name = "number or choice";
      break;
    case ParamType::mask:
      name = "mask";
      break;
    case ParamType::modifiers:
      name = "list of score modifiers";
      break;
    case ParamType::component:
      name = std::string(to_string(row.limits.kind));
      break;
  }
  if (row.is_list) name = "list of " + name;
  return row.is_optional ? name + " or null" : name;
}

std::string default_text(const ParamSpec& row) { return text_of(row.default_value); }

std::string limits_text(const ParamSpec& row) {
  const auto& limits = row.limits;
  std::vector<std::string> choices, bounds;
  for (const auto choice : limits.choices) {
    if (!choice.empty()) choices.emplace_back(choice);
  }
  if (std::isfinite(limits.min)) {
    bounds.push_back((limits.min_excluded ? "greater than " : "at least ") + support::number_text(limits.min));
  }
  if (std::isfinite(limits.max)) {
    bounds.push_back((limits.max_excluded ? "less than " : "at most ") + support::number_text(limits.max));
  }
  const auto bound = support::join(bounds, " and "), choice = support::join(choices, ", ");
  return bound.empty() || choice.empty() ? bound + choice : bound + ", or " + choice;
}

std::string markdown_text(std::string text) {
  for (auto bar = text.find('|'); bar != std::string::npos; bar = text.find('|', bar + 2)) text.insert(bar, "\\");
  return text;
}

std::string markdown(const std::vector<ParamSpec>& rows) { return table_text(rows, {}); }

std::string markdown() {
  std::string text;
  for (const Table* table : all_tables()) {
    text += "### " + (table->name.empty() ? std::string("Top level") : "`" + std::string(table->name) + "`") + "\n\n" +
            table_text(table->rows, table->structures) + "\n";
  }
  return text + "### Masks\n\n" + kinds_text(mask_kinds()) + "\n### Score modifiers\n\n" + kinds_text(modifier_kinds());
}

}  // namespace headwright::bind

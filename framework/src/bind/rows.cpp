// Reads each row of a map, and reports what no row knows with the key that was probably meant.
#include "bind/rows.h"

#include <algorithm>

#include "bind/hints.h"
#include "bind/values.h"
#include "spec/scalars.h"
#include "support/text.h"

namespace headwright::bind {
namespace {

using spec::Node;

const ParamSpec* row_called(const std::vector<ParamSpec>& rows, const std::string& name) {
  const auto found = std::ranges::find(rows, name, &ParamSpec::name);
  return found == rows.end() ? nullptr : &*found;
}

/// A component beside the unknown key that has a parameter of that name: the key stands one level too high.
std::string misplaced_parameter(Reader& reader, const Node& map, const std::string& key) {
  for (const auto& [sibling, mark, value] : map.entries) {
    const Node* name = value.type == Node::Type::map ? value.find("name") : &value;
    if (name == nullptr || name->type != Node::Type::scalar) continue;
    const auto* variant = reader.registry.find(name->text);
    if (variant != nullptr && sibling != "name" && row_called(variant->params, key) != nullptr) {
      return "'" + key + "' is a parameter of '" + variant->name + "' and belongs under " + sibling;
    }
  }
  return "";
}

/// A section whose usual component has a parameter of that name: "model.embedding" for vocab_size.
std::string of_a_section(Reader& reader, const std::string& key, const std::string& path) {
  std::vector<const Table*> tables{&model_table(), &encoder_table()};
  if (path.starts_with(encoder_table().name)) std::ranges::reverse(tables);  // the one at hand first
  for (const auto* table : tables) {
    for (const auto& row : table->rows) {
      const auto* variant = row.limits.usual.empty() ? nullptr : reader.registry.find(row.limits.usual);
      if (variant != nullptr && row_called(variant->params, key) != nullptr) {
        return "'" + key + "' belongs under " + std::string(table->name) + "." + row.name;
      }
    }
  }
  return "";
}

void report_unknown(Reader& reader, const Rows& rows, const Node& map, const spec::Entry& entry,
                    const std::string& path) {
  std::vector<std::string> known = rows.others;
  for (const auto& row : rows.rows) known.push_back(row.name);
  std::ranges::sort(known);
  const auto misplaced = misplaced_parameter(reader, map, entry.key);
  auto hint = misplaced.empty() ? hint_for(entry.key, known, path) : Hint{.remark = misplaced};
  if (hint.remark.empty() && hint.suggestion.empty() && path.starts_with("model")) {
    hint.remark = of_a_section(reader, entry.key, path);
  }
  std::string message = "unknown " + rows.what + " (known: " + support::join(known, ", ") + ")";
  if (!hint.remark.empty()) message += "; " + hint.remark;
  reader.report(entry.key_mark, below(path, support::printable(entry.key)), message, hint.suggestion);
}

}  // namespace

Rows rows_of(const Table& table) {
  std::vector<std::string> others;
  for (const auto& structure : table.structures) others.emplace_back(structure.key);
  return {table.rows, others, table.name.empty() ? "key" : "key of " + std::string(table.name)};
}

RowValues read_rows(Reader& reader, const Rows& rows, const Node& map, const std::string& path, Node& resolved) {
  RowValues read;
  for (const auto& entry : map.entries) {
    const bool other = std::ranges::find(rows.others, entry.key) != rows.others.end();
    if (other || row_called(rows.rows, entry.key) != nullptr) continue;
    report_unknown(reader, rows, map, entry, path);
    read.whole = false;
  }
  for (const auto& row : rows.rows) {
    const Node* node = map.find(row.name);
    if (node == nullptr && row.limits.required) {
      reader.report(map.mark, below(path, row.name), "missing, expected " + expected_text(row) + ": " + row.doc);
      read.whole = false;
    } else if (auto value = node == nullptr ? read_default(reader, row, map.mark, below(path, row.name))
                                            : read_value(reader, row, *node, below(path, row.name))) {
      read.values.emplace_back(row.name, std::move(value->value));
      set(resolved, row.name, std::move(value->resolved));
    } else {
      read.whole = false;
    }
  }
  return read;
}

std::string with_article(Kind kind) {
  const auto name = to_string(kind);
  return (name.starts_with('a') || name.starts_with('e') ? "an " : "a ") + std::string(name);
}

bool expect_map(Reader& reader, const Node& node, const std::string& path, const std::string& expected) {
  if (node.type == Node::Type::map) return true;
  reader.report(node.mark, path, "got " + node.what() + ", expected " + expected);
  return false;
}

const VariantSpec* find_variant(Reader& reader, Kind kind, const Node& name, const std::string& path) {
  const std::string shown = support::printable(name.text);
  const auto* variant = reader.registry.find(name.text);
  if (variant != nullptr && variant->kind == kind) return variant;
  std::string message =
      "no " + std::string(to_string(kind)) + " is called '" + shown + "'; " + reader.registry.what_is_known(kind);
  if (variant != nullptr) {
    message = "'" + shown + "' is " + with_article(variant->kind) + ", expected " + with_article(kind) + "; " +
              reader.registry.what_is_known(kind);
  }
  reader.report(name.mark, path, message, support::nearest(name.text, reader.registry.names(kind)).value_or(""));
  return nullptr;
}

}  // namespace headwright::bind

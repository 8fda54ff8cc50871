// The keys of one map, read against their rows. Whatever the rows do not know is reported with what was probably meant.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "bind/reader.h"
#include "bind/tables.h"
#include "headwright/variant.h"

namespace headwright::bind {

struct Rows {
  const std::vector<ParamSpec>& rows;
  std::vector<std::string> others;  // keys that the caller reads itself
  std::string what;                 // "parameter of 'softmax'", "key of model", for messages
};

Rows rows_of(const Table& table);

/// The values that could be read; rows that the map leaves out get their default.
struct RowValues {
  ParamMap values;
  bool whole = true;  // nothing was refused, missing or unknown
};

RowValues read_rows(Reader& reader, const Rows& rows, const spec::Node& map, const std::string& path,
                    spec::Node& resolved);

/// A section of the framework: its rows as a struct, with the default of each row that has a fault.
template <class Keys>
Keys read_section(Reader& reader, const Table& table, const spec::Node& map, const std::string& path,
                  spec::Node& resolved) {
  return params_from<Keys>(read_rows(reader, rows_of(table), map, path, resolved).values);
}

/// "an attention", "a norm"
std::string with_article(Kind kind);

/// False, and reported, unless `node` is a map.
bool expect_map(Reader& reader, const spec::Node& node, const std::string& path, const std::string& expected);

/// The variant that `name` names, of the right kind; null and reported otherwise.
const VariantSpec* find_variant(Reader& reader, Kind kind, const spec::Node& name, const std::string& path);

}  // namespace headwright::bind

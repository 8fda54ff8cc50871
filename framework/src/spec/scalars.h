// What a scalar means. Numbers are decimal and mean one thing in a file, in --set and in the schema.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "spec/node.h"

namespace headwright::spec {

/// A value, or what to say instead: "got 0x10, expected an integer; write it in decimal: 16".
template <class T>
struct Read {
  std::optional<T> value;
  std::string message;
};

Read<bool> as_bool(const Node& node);             // true | false
Read<std::int64_t> as_integer(const Node& node);  // -?(0|[1-9][0-9]*), within 64 bits
Read<double> as_number(const Node& node);         // an integer, or decimal with point or exponent; finite
Read<std::string> as_text(const Node& node);      // quoted, or plain and not a number, bool or null

/// null, ~ or nothing
bool is_null(const Node& node);

}  // namespace headwright::spec

// Nested lists of numbers, such as [[[0.43, 0.15], [0.55, 0.87]]].
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bind/reader.h"

namespace headwright::bind {

enum class Element { number, integer, boolean };

struct Nested {
  std::vector<double> values;  // row-major
  std::vector<std::int64_t> shape;
};

/// Reports the first element that is of another type, and the first list that is of another length than its siblings.
std::optional<Nested> read_nested(Reader& reader, const spec::Node& node, const std::string& path, Element element);

}  // namespace headwright::bind

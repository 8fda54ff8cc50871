// The table of export formats.
#include "exporter/formats.h"

namespace headwright::exporter {

std::span<const Format> all_formats() {
#define HEADWRIGHT_MADE(name) name##_format(),
  static const std::vector<Format> table{HEADWRIGHT_FORMATS(HEADWRIGHT_MADE)};
#undef HEADWRIGHT_MADE
  return table;
}

}  // namespace headwright::exporter

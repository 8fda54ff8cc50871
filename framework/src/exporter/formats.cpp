// The table of export formats.
#include "exporter/formats.h"

namespace headwright::exporter {

// One function a format, each in a file of its own
Format torchscript_format();
Format safetensors_format();

std::span<const Format> all_formats() {
  static const std::vector<Format> table{torchscript_format(), safetensors_format()};
  return table;
}

}  // namespace headwright::exporter

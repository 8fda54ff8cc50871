// One format of exports. A new one is a file beside this one that defines NAME_format(), and a row below. The model is
// in eval mode, on the CPU, and gradients are off.
#pragma once
#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

#include "exporter/exporter.h"

namespace headwright::exporter {

struct Format {
  const char* name;
  std::vector<const char*> endings;            // of file names that mean it: the usual one first
  bool (*recognises)(std::string_view begin);  // by the first bytes of a file
  Report (*write)(model::Model&, const bind::Plan&, const std::filesystem::path&);
  Inspection (*inspect)(const std::filesystem::path&);
};

#define HEADWRIGHT_FORMATS(ROW) \
  ROW(torchscript)              \
  ROW(safetensors)

#define HEADWRIGHT_DECLARE(name) Format name##_format();
HEADWRIGHT_FORMATS(HEADWRIGHT_DECLARE)
#undef HEADWRIGHT_DECLARE

std::span<const Format> all_formats();

}  // namespace headwright::exporter

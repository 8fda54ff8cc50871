// Keeps the notes and the calls that somebody asked for.
#include "headwright/recorder.h"

#include <ATen/ATen.h>

#include <algorithm>

namespace headwright {

namespace {

/// An empty filter matches everything.
bool matches(const std::vector<std::string>& filter, std::string_view text) {
  return filter.empty() || std::ranges::find(filter, text) != filter.end();
}

}  // namespace

bool Recorder::wants(std::string_view path, std::string_view name) const {
  return matches(names_, name) && matches(paths_, path);
}

bool Recorder::wants_call(std::string_view path) const { return wants_calls_ && matches(paths_, path); }

void Recorder::add(std::string path, std::string_view name, std::string_view meaning, const at::Tensor& value) {
  notes_.push_back({std::move(path), std::string(name), std::string(meaning), value.detach()});
}

}  // namespace headwright

#include "headwright/recorder.h"

#include <ATen/ATen.h>

#include <algorithm>

namespace headwright {

bool Recorder::wants(std::string_view name) const {
  return wanted_.empty() || std::ranges::find(wanted_, name) != wanted_.end();
}

void Recorder::add(std::string path, std::string_view name, std::string_view meaning, const at::Tensor& value) {
  notes_.push_back({std::move(path), std::string(name), std::string(meaning), value.detach()});
}

}  // namespace headwright

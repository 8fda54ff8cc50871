#include "headwright/recorder.h"

#include <ATen/ATen.h>

#include <algorithm>

namespace headwright {

bool Recorder::wants(std::string_view path, std::string_view name) const {
  const auto among = [](const std::vector<std::string>& list, std::string_view text) {
    return list.empty() || std::ranges::find(list, text) != list.end();
  };
  return among(names_, name) && among(paths_, path);
}

void Recorder::add(std::string path, std::string_view name, std::string_view meaning, const at::Tensor& value) {
  notes_.push_back({std::move(path), std::string(name), std::string(meaning), value.detach()});
}

}  // namespace headwright

// What an unknown key was probably meant to be.
#pragma once
#include <span>
#include <string>

namespace headwright::bind {

struct Hint {
  std::string suggestion;  // a key that is valid here
  std::string remark;      // where a key that is valid elsewhere belongs
};

/// `key` is unknown under `path`, where `known` are valid.
Hint hint_for(const std::string& key, std::span<const std::string> known, const std::string& path);

}  // namespace headwright::bind

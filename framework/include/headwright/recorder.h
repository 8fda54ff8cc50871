// Intermediate tensors on request: lessons, pictures and diagnosis are built on it.
#pragma once
#include <ATen/core/Tensor.h>

#include <string>
#include <string_view>
#include <vector>

#include "headwright/errors.h"

namespace headwright {

class HEADWRIGHT_API Recorder {
 public:
  struct Note {
    std::string path;     // of the module that noted it: "blocks.0.attention"
    std::string name;     // "weights"
    std::string meaning;  // one phrase for a reader
    at::Tensor value;     // detached
  };

  /// True if somebody wants notes called `name`. Nothing wanted by name = everything is.
  bool wants(std::string_view name) const;
  void want(std::string name) { wanted_.push_back(std::move(name)); }
  void add(std::string path, std::string_view name, std::string_view meaning, const at::Tensor& value);
  const std::vector<Note>& notes() const { return notes_; }

 private:
  std::vector<std::string> wanted_;
  std::vector<Note> notes_;
};

}  // namespace headwright

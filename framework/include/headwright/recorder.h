// Intermediate tensors on request: lessons, pictures and diagnosis are built on it.
#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "headwright/errors.h"

namespace headwright {

/// Which rows of a weight matrix are wanted; an empty list = all.
struct WeightChoice {
  std::vector<std::int64_t> heads, queries;
};

class HEADWRIGHT_API Recorder {
 public:
  struct Note {
    std::string path;     // of the module that noted it: "blocks.0.attention"
    std::string name;     // "weights"
    std::string meaning;  // one phrase for a reader
    at::Tensor value;     // detached
  };

  /// True if somebody wants notes called `name` of the module at `path`. Nothing wanted by name = every name is; so for
  /// paths.
  bool wants(std::string_view path, std::string_view name) const;
  void want(std::string name) { names_.push_back(std::move(name)); }
  void want_path(std::string path) { paths_.push_back(std::move(path)); }

  /// The part of a weight matrix that note_weights() records.
  const WeightChoice& weight_choice() const { return weight_choice_; }
  void choose_weights(WeightChoice choice) { weight_choice_ = std::move(choice); }

  void add(std::string path, std::string_view name, std::string_view meaning, const at::Tensor& value);
  const std::vector<Note>& notes() const { return notes_; }

 private:
  std::vector<std::string> names_, paths_;
  std::vector<Note> notes_;
  WeightChoice weight_choice_;
};

}  // namespace headwright

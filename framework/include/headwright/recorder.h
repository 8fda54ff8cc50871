// Intermediate tensors on request: lessons, pictures and diagnosis are built on it.
#pragma once
#include <ATen/core/Tensor.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headwright/attend.h"

namespace headwright {

/// What a layer asked of the attention core, and what it got. Detached.
struct AttentionCall {
  std::string path;    // of the layer
  at::Tensor q, k, v;  // as attend() takes them
  Scoring scoring;
  Attended result;
};

class HEADWRIGHT_API Recorder {
 public:
  struct Note {
    std::string path;     // of the module that noted it: "blocks.0.attention"
    std::string name;     // "weights"
    std::string meaning;  // one phrase for a reader
    at::Tensor value;     // detached
  };

  /// True if somebody wants notes called `name` of the module at `path`. An empty filter matches everything.
  bool wants(std::string_view path, std::string_view name) const;
  void want(std::string name) { names_.push_back(std::move(name)); }
  void want_path(std::string path) { paths_.push_back(std::move(path)); }

  /// The part of a weight matrix that note_weights() records.
  const WeightChoice& weight_choice() const { return weight_choice_; }
  void choose_weights(WeightChoice choice) { weight_choice_ = std::move(choice); }

  /// The calls of layers to the core, where they are wanted; the filter of paths holds for them, that of names not.
  void want_calls() { wants_calls_ = true; }
  bool wants_call(std::string_view path) const;
  void add_call(AttentionCall call) { calls_.push_back(std::move(call)); }
  const std::vector<AttentionCall>& calls() const { return calls_; }

  void add(std::string path, std::string_view name, std::string_view meaning, const at::Tensor& value);
  const std::vector<Note>& notes() const { return notes_; }

 private:
  std::vector<std::string> names_, paths_;
  std::vector<Note> notes_;
  bool wants_calls_ = false;
  std::vector<AttentionCall> calls_;
  WeightChoice weight_choice_;
};

}  // namespace headwright

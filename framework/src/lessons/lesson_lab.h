// Where a lesson works: it runs configs of configs/lessons, shows what they noted, and collects checks.
#pragma once
#include <ATen/core/Tensor.h>

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "headwright/attention.h"
#include "lessons/lesson.h"
#include "lessons/lesson_checks.h"
#include "model/model.h"
#include "run/forward.h"

namespace headwright::lessons {

/// A config and its model, run once with everything noted.
class Experiment {
 public:
  /// given: undefined x = those of the config.
  Experiment(const run::Request& request, const Inputs& given);

  /// Runs the model again, on other features or tokens; the notes of the last pass count.
  void run(const at::Tensor& x);

  /// The tensor that the first attention noted. Throws InputError where it noted none of that name.
  at::Tensor noted(std::string_view name) const;

  Attention& attention() const;  // of the first block

  /// A parameter or buffer of the first attention. Throws InputError where it has none of that name.
  at::Tensor tensor(const std::string& name) const;

  std::int64_t d_out() const { return plan_.model.blocks.at(0).d_out; }
  const Dims& dims() const { return plan_.model.blocks.at(0).dims; }

  std::shared_ptr<model::Model> model;
  Inputs inputs;
  Recorder recorder;
  at::Tensor y;

 private:
  const std::string& variant() const;  // its name

  bind::Plan plan_;
};

class Lab {
 public:
  Lab(LessonInfo info, std::vector<std::string> overrides, std::vector<std::filesystem::path> plugin_path);

  /// The lesson's own config, with the learner's overrides and then `changes`.
  Experiment run(const std::vector<std::string>& changes = {}) const;

  /// Another config beside it; of the learner's overrides only those of `run` apply.
  Experiment run_beside(const std::string& config, const std::vector<std::string>& changes,
                        const Inputs& inputs = {}) const;

  void show(std::string name, std::string meaning, const at::Tensor& value);

  /// Every note of the last pass; `renamed` gives notes another name.
  void show_notes(const Experiment& experiment, const std::map<std::string, std::string>& renamed = {});

  void expect(LessonCheck check) { result_.checks.push_back(std::move(check)); }

  /// For figures printed in the chapter, which hold for the chapter's input and sizes: left out after an override.
  void expect_figures(std::string name, const at::Tensor& tensor, const std::vector<double>& expected);

  LessonResult result() && { return std::move(result_); }

 private:
  LessonResult result_;
  const std::vector<std::string> overrides_;
  const std::vector<std::filesystem::path> plugin_path_;
};

/// The model.blocks.only.attention override of a parameter.
std::string attention_param(const std::string& name, const std::string& value);
std::string model_key(const std::string& name, std::int64_t value);

/// Throws InputError where x (batch, seq, ...) has fewer tokens than the lesson looks at.
void expect_tokens(const at::Tensor& x, std::int64_t fewest);

}  // namespace headwright::lessons

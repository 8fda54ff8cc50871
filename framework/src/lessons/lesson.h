// The lessons: each runs a config of configs/lessons, shows every intermediate, and checks what it teaches.
#pragma once
#include <ATen/core/Tensor.h>

#include <filesystem>
#include <string>
#include <vector>

#include "run/session.h"

namespace headwright::lessons {

struct LessonStep {
  std::string name, meaning;
  at::Tensor value;
};

struct LessonCheck {
  std::string name;
  bool passed = false;
  std::string detail;  // the figures behind it
};

struct LessonInfo {
  std::string id;  // "3.3.1"
  std::string title;
  std::string config;  // stem of the file in configs/lessons that it runs
};

struct LessonResult {
  LessonInfo info;
  std::vector<LessonStep> steps;
  std::vector<LessonCheck> checks;
};

/// In the order in which they build on each other.
std::vector<LessonInfo> lessons();

/// Runs one. Overrides ("input.values=...") change every number that depends on them, since each comes from the running
/// plugin. Throws InputError for an unknown id, naming the nearest.
LessonResult run_lesson(const std::string& id, const std::vector<std::string>& overrides,
                        const std::vector<std::filesystem::path>& plugin_path);

/// The folder of the shipped configs: $HEADWRIGHT_CONFIGS, else found from the executable's folder.
std::filesystem::path configs_folder();

}  // namespace headwright::lessons

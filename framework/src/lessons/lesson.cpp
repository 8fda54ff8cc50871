// The list of lessons, and how one of them runs.
#include "lessons/lesson.h"

#include <cstdlib>

#include "headwright/errors.h"
#include "lessons/lesson_lab.h"
#include "lessons/lesson_scripts.h"
#include "support/files.h"
#include "support/text.h"

namespace headwright::lessons {
namespace {

const std::vector<LessonScript>& scripts() {
  static const auto all = [] {
    std::vector<LessonScript> list;
    for (const auto& group : {lessons_without_parameters(), lessons_with_parameters(), lessons_on_causality(),
                              lessons_on_heads(), lessons_on_words()}) {
      list.insert(list.end(), group.begin(), group.end());
    }
    return list;
  }();
  return all;
}

const LessonScript& script_of(const std::string& id) {
  std::vector<std::string> known;
  for (const auto& script : scripts()) {
    if (script.info.id == id) return script;
    known.push_back(script.info.id);
  }
  const auto nearest = support::nearest(id, known);
  throw InputError("no lesson is called '" + support::printable(id) + "'" +
                   (nearest ? "; did you mean '" + *nearest + "'?" : "") + " (known: " + support::join(known, ", ") +
                   ")");
}

}  // namespace

std::vector<LessonInfo> lessons() {
  std::vector<LessonInfo> infos;
  for (const auto& script : scripts()) infos.push_back(script.info);
  return infos;
}

LessonResult run_lesson(const std::string& id, const std::vector<std::string>& overrides,
                        const std::vector<std::filesystem::path>& plugin_path) {
  const auto& script = script_of(id);
  Lab lab(script.info, overrides, plugin_path);
  script.teach(lab);
  return std::move(lab).result();
}

std::filesystem::path configs_folder() {
  if (const char* named = std::getenv("HEADWRIGHT_CONFIGS"); named != nullptr && *named != '\0') {
    if (std::filesystem::is_directory(std::filesystem::path(named) / "lessons")) return named;
    throw InputError("HEADWRIGHT_CONFIGS: got '" + support::printable(named) +
                     "', expected a folder with 'lessons' in it");
  }
  const auto executable = support::executable_folder();
  // A runner in a build tree finds the configs of the source tree above; an installed one has them under share.
  for (auto folder = executable;; folder = folder.parent_path()) {
    for (auto configs : {folder / "configs", folder / "share/headwright/configs"}) {
      if (std::filesystem::is_directory(configs / "lessons")) return configs;
    }
    if (folder == folder.parent_path()) break;
  }
  throw InputError("no configs/lessons in " + executable.string() +
                   " or a folder above it; set HEADWRIGHT_CONFIGS to the folder of the shipped configs");
}

}  // namespace headwright::lessons

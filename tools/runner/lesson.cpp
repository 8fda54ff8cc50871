// `runner lesson`: the tutorial's lessons.
#include "lessons/lesson.h"

#include <algorithm>
#include <iostream>

#include "commands.h"
#include "exit_code.h"
#include "print.h"

namespace headwright::runner {
namespace {

struct Options {
  std::string id;
  std::vector<std::string> overrides;
  bool json = false, list = false;
  int decimals = 4;
};

Json as_json(const lessons::LessonResult& lesson) {
  Json object;
  object["id"] = lesson.info.id;
  object["title"] = lesson.info.title;
  object["config"] = lesson.info.config;
  object["steps"] = Json::array();
  for (const auto& [name, meaning, value] : lesson.steps) {
    const auto tensor = tensor_json(value, true);
    object["steps"].push_back(
        {{"name", name}, {"shape", tensor["shape"]}, {"meaning", meaning}, {"values", tensor["values"]}});
  }
  object["checks"] = Json::array();
  for (const auto& [name, passed, detail] : lesson.checks) {
    object["checks"].push_back({{"name", name}, {"passed", passed}, {"detail", detail}});
  }
  return object;
}

void print(const lessons::LessonResult& lesson, int decimals) {
  std::cout << "Lesson " << lesson.info.id << ": " << lesson.info.title << "\nconfigs/lessons/" << lesson.info.config
            << ".yaml\n\n";
  for (const auto& [name, meaning, value] : lesson.steps) {
    std::cout << name << ": " << meaning << "\n" << tensor_text(value, decimals) << "\n\n";
  }
  for (const auto& [name, passed, detail] : lesson.checks) {
    std::cout << (passed ? "holds   " : "FAILS   ") << name << (detail.empty() ? "" : ": " + detail) << '\n';
  }
}

bool passed(const lessons::LessonResult& lesson) {
  return std::ranges::all_of(lesson.checks, &lessons::LessonCheck::passed);
}

int list_lessons(bool json) {
  std::vector<std::vector<std::string>> rows{{"ID", "TITLE"}};
  auto list = Json::array();
  for (const auto& [id, title, config] : lessons::lessons()) {
    rows.push_back({id, title});
    list.push_back({{"id", id}, {"title", title}, {"config", config}});
  }
  if (json) {
    print_json({{"lessons", std::move(list)}});
  } else {
    std::cout << table_text(rows);
  }
  return kOk;
}

/// One lesson, or all in order; with --json all are one object with a list.
int lesson(const Global& global, const Options& options) {
  if (options.list) return list_lessons(options.json);
  run::set_up_process();
  if (!options.id.empty()) {
    const auto result = lessons::run_lesson(options.id, options.overrides, global.plugin_path);
    if (options.json) {
      print_json(as_json(result));
    } else {
      print(result, options.decimals);
    }
    return passed(result) ? kOk : kDiffers;
  }
  bool all_passed = true;
  auto list = Json::array();
  for (const auto& info : lessons::lessons()) {
    const auto result = lessons::run_lesson(info.id, options.overrides, global.plugin_path);
    all_passed &= passed(result);
    if (options.json) {
      list.push_back(as_json(result));
    } else {
      print(result, options.decimals);
      std::cout << '\n';
    }
  }
  if (options.json) print_json({{"lessons", std::move(list)}});
  return all_passed ? kOk : kDiffers;
}

}  // namespace

void add_lesson(CLI::App& app, Global& global) {
  const auto options = std::make_shared<Options>();
  auto& command = add_command(app, global, "lesson", "a lesson of the tutorial, every intermediate tensor shown",
                              "  runner lesson --list\n"
                              "  runner lesson 3.3.1\n"
                              "  runner lesson 3.6.2 --set run.seed=7\n"
                              "  runner lesson                   all of them, in order",
                              [&global, options] { return lesson(global, *options); });
  auto* id = command.add_option("ID", options->id, "a lesson; without it all are run, in order");
  auto* set = command.add_option("--set", options->overrides, "change a value of the lesson's config; may be repeated")
                  ->type_name("PATH=VALUE")
                  ->allow_extra_args(false);
  command.add_option("--decimals", options->decimals, "digits after the point")
      ->check(CLI::Range(0, 17))
      ->capture_default_str();
  command.add_flag("--list", options->list, "the lessons' ids and titles")->excludes(id)->excludes(set);
  command.add_flag("--json", options->json, "print one JSON object");
}

}  // namespace headwright::runner

// runner: the command line of headwright. Data on stdout, messages on stderr.
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <iostream>

#include "commands.h"
#include "exit_code.h"
#include "suggestion.h"
#include "support/log.h"

namespace headwright::runner {
namespace {

constexpr auto kAbout = R"(headwright: compose attention variants from YAML, run them, export them

Examples:
  runner forward configs/lessons/multi_head_attention.yaml   run a config and print the result
  runner lesson 3.3.1                                        a lesson, step by step
  runner compare a.yaml b.yaml                               two configs on one input
  runner export configs/models/tiny_gpt.yaml -o tiny.pt      TorchScript that stock PyTorch loads
  runner describe softmax                                    the parameters of a variant)";

void add_globals(CLI::App& app, Global& global) {
  app.add_option("--plugin-path", global.plugin_path, "a plugin library, or a folder of them; may be repeated")
      ->type_name("DIR")
      ->allow_extra_args(false);
  app.add_option("--log-level", global.log_level, "how much is said on stderr")
      ->check(CLI::IsMember(support::log::level_names()))
      ->capture_default_str();
  app.add_option("--color", global.color, "color of messages; NO_COLOR is obeyed")
      ->check(CLI::IsMember({"auto", "always", "never"}))
      ->capture_default_str();
  app.set_version_flag("--version", HEADWRIGHT_VERSION);
  app.require_subcommand(1);
}

void add_commands(CLI::App& app, Global& global) {
#define HEADWRIGHT_ADD(name) add_##name(app, global);
  HEADWRIGHT_COMMANDS(HEADWRIGHT_ADD)
#undef HEADWRIGHT_ADD
}

/// Mostly a variable of the shell that is not set: the option would count as not given.
void refuse_empty_values(CLI::App& app) {
  const CLI::Validator filled([](const std::string& value) { return std::string(value.empty() ? "is empty" : ""); },
                              "");
  for (auto* option : app.get_options()) {
    if (option->get_items_expected_max() > 0) option->check(filled);
  }
  for (auto* command : app.get_subcommands([](const CLI::App*) { return true; })) refuse_empty_values(*command);
}

support::log::Color color_from(const std::string& name) {
  if (name == "always") return support::log::Color::always;
  return name == "never" ? support::log::Color::never : support::log::Color::automatic;
}

/// Errors too are then one object on stdout. Told from the words alone, since the line may be wrong.
bool wants_json(const std::vector<std::string>& arguments) {
  const auto end = std::ranges::find(arguments, "--");
  return std::any_of(arguments.begin(), end, [](const std::string& argument) {
    return argument == "--json" || argument == "--json=true" || argument == "--json=1";
  });
}

int run(const std::vector<std::string>& arguments, int argc, char** argv) {
  end_cleanly_on_signals();
  Global global;
  CLI::App app(kAbout, "runner");
  put_examples_first(app);
  add_globals(app, global);
  add_commands(app, global);
  refuse_empty_values(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return finish(app.exit(error));  // --help, --version
    const Problem problem{.file = "", .message = usage_message(app, arguments, error)};
    return finish(report({kUsage, {problem}}, wants_json(arguments)));
  }
  support::log::set_up(global.log_level, color_from(global.color));
  return finish(guarded(global.action, wants_json(arguments)));
}

}  // namespace
}  // namespace headwright::runner

int main(int argc, char** argv) try {
  return headwright::runner::run({argv + 1, argv + argc}, argc, argv);
} catch (...) {  // what fails past guarded(): a full disk behind stderr, no memory for a message
  return headwright::runner::kFailure;
}

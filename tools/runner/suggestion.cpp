// Finds the nearest command or option to a misspelt one.
#include "suggestion.h"

#include <algorithm>
#include <array>

#include "support/text.h"

namespace headwright::runner {
namespace {

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const auto* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (!command->get_group().empty()) names.push_back(command->get_name());  // hidden ones have no group
  }
  return names;
}

const CLI::App* command_called(const CLI::App& app, const std::string& name) {
  for (const auto* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (command->get_name() == name) return command;
  }
  return nullptr;
}

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const auto* option : app.get_options()) {
    for (const auto& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

/// The first argument that is neither an option nor the value of a global one.
std::string first_word(const CLI::App& app, const std::vector<std::string>& arguments) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const auto& argument = arguments[i];
    if (!argument.starts_with('-')) return argument;
    const auto* option = app.get_option_no_throw(argument);
    if (option != nullptr && option->get_items_expected_max() > 0) ++i;
  }
  return "";
}

std::string hint(const std::string& got, const std::vector<std::string>& names) {
  const auto near = support::nearest(got, names);
  return near ? "; did you mean '" + *near + "'?" : " (known: " + support::join(names, ", ") + ")";
}

constexpr std::size_t kDashes = 2;  // before the name of an option

/// Options that were called otherwise before.
constexpr std::array<std::pair<std::string_view, std::string_view>, 1> kRenamed{{{"--weights-out", "--attention-out"}}};

/// What was probably meant by an option that is not known: one that begins so, or one with nearly these letters.
std::string hint_for_option(const std::string& got, const std::vector<std::string>& known) {
  const auto renamed = std::ranges::find(kRenamed, got, [](const auto& pair) { return pair.first; });
  const bool is_renamed = renamed != kRenamed.end() && std::ranges::find(known, renamed->second) != known.end();
  if (is_renamed) return "; it is called '" + std::string(renamed->second) + "' now";
  const auto begun = std::ranges::find_if(known, [&](const auto& name) { return name.starts_with(got); });
  if (begun != known.end() && got.size() > kDashes + 1) return "; did you mean '" + *begun + "'?";
  std::vector<std::string> bare;
  for (const auto& name : known) bare.push_back(name.substr(kDashes));
  const auto near = support::nearest(got.substr(kDashes), bare);
  return near ? "; did you mean '--" + *near + "'?" : " (known: " + support::join(known, ", ") + ")";
}

/// The first option of the command line that neither the command nor the program knows.
std::string unknown_option(const CLI::App& app, const CLI::App* command, const std::vector<std::string>& arguments) {
  auto known = option_names(app);
  if (command != nullptr) std::ranges::copy(option_names(*command), std::back_inserter(known));
  for (const auto& argument : arguments) {
    if (argument == "--") break;
    const auto name = argument.substr(0, argument.find('='));
    if (name.starts_with("--") && std::ranges::find(known, name) == known.end()) {
      return "unknown option '" + support::printable(name) + "'" + hint_for_option(name, known);
    }
  }
  return "";
}

}  // namespace

std::string usage_message(const CLI::App& app, const std::vector<std::string>& arguments,
                          const CLI::ParseError& error) {
  const auto names = command_names(app);
  const auto word = first_word(app, arguments);
  if (word.empty()) return "no command; 'runner --help' shows examples (known: " + support::join(names, ", ") + ")";
  const auto* command = command_called(app, word);
  if (command == nullptr) {
    return "unknown command '" + support::printable(word) + "'" + hint(word, names);
  }
  auto message = unknown_option(app, command, arguments);
  if (message.empty()) message = error.what();
  std::ranges::replace(message, '\n', ' ');
  return word + ": " + message + "; 'runner " + word + " --help' shows examples";
}

}  // namespace headwright::runner

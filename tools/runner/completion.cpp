// `runner completion`: the command tree for a shell.
#include "completion.h"

#include <iostream>

#include "commands.h"
#include "exit_code.h"
#include "support/text.h"

namespace headwright::runner {
namespace {

/// By the name of the type, which the help shows: "FILE[:TENSOR]", "DIR", "TEXT:{json,markdown}".
Argument argument_of(const CLI::Option& option) {
  using Kind = Argument::Kind;
  if (option.get_items_expected_max() == 0) return {};
  const auto type = option.get_type_name();
  if (type.starts_with("FILE")) return {.kind = Kind::file};
  if (type == "DIR") return {.kind = Kind::folder};
  if (type == "VARIANT") return {.kind = Kind::variant};
  const auto open = type.find('{'), close = type.rfind('}');
  if (open == std::string::npos || close == std::string::npos) return {.kind = Kind::text};
  return {.kind = Kind::choice, .choices = support::split(type.substr(open + 1, close - open - 1), ',')};
}

std::vector<CompletedOption> options_of(const CLI::App& app) {
  std::vector<CompletedOption> options;
  for (const auto* option : app.get_options()) {
    std::vector<std::string> names;
    for (const auto& name : option->get_snames()) names.push_back("-" + name);
    for (const auto& name : option->get_lnames()) names.push_back("--" + name);
    if (!names.empty()) options.push_back({std::move(names), option->get_description(), argument_of(*option)});
  }
  return options;
}

/// Of the arguments that stand alone; those of one command are all of one kind.
Argument own_argument(const CLI::App& app) {
  for (const auto* option : app.get_options()) {
    if (option->get_positional()) return argument_of(*option);
  }
  return {};
}

CommandTree tree_of(const CLI::App& app) {
  CommandTree tree{.options = options_of(app), .commands = {}};
  for (const auto* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (command->get_group().empty()) continue;  // hidden
    const auto text = command->get_description();
    tree.commands.push_back(
        {command->get_name(), text.substr(0, text.find('\n')), options_of(*command), own_argument(*command)});
  }
  return tree;
}

std::string script_of(const std::string& shell, const CommandTree& tree) {
  if (shell == "bash") return bash_completion(tree);
  return shell == "zsh" ? zsh_completion(tree) : fish_completion(tree);
}

}  // namespace

void add_completion(CLI::App& app, Global& global) {
  struct Options {
    std::string shell;
    bool json = false;
  };
  const auto options = std::make_shared<Options>();
  const auto print = [&app, options] {
    const auto script = script_of(options->shell, tree_of(app));
    if (options->json) {
      print_json({{"shell", options->shell}, {"script", script}});
    } else {
      std::cout << script;
    }
    return kOk;
  };
  auto& command = add_command(app, global, "completion", "a script that completes command lines in a shell",
                              "  source <(runner completion bash)\n"
                              "  runner completion zsh >~/.zsh/completions/_runner   a folder of $fpath\n"
                              "  runner completion fish >~/.config/fish/completions/runner.fish",
                              print);
  command.add_option("SHELL", options->shell, "the shell")->required()->check(CLI::IsMember({"bash", "zsh", "fish"}));
  command.add_flag("--json", options->json, "print one JSON object");
}

}  // namespace headwright::runner

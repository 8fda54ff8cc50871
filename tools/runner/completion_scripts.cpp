// The command tree as a script of bash, zsh and fish. Variants are asked of the runner when they are completed.
#include "completion.h"
#include "support/text.h"
#include "templates.h"

namespace headwright::runner {
namespace {

using Kind = Argument::Kind;

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (auto at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

std::string joined(const std::vector<CompletedOption>& options) {
  std::vector<std::string> names;
  for (const auto& option : options) names.insert(names.end(), option.names.begin(), option.names.end());
  return support::join(names, " ");
}

// --- bash ---------------------------------------------------------------------------------------------------------

std::string bash_argument(const Argument& argument) {
  switch (argument.kind) {
    case Kind::file:
      return "_runner_files -f";
    case Kind::folder:
      return "_runner_files -d";
    case Kind::variant:
      return "_runner_words \"$(\"${COMP_WORDS[0]}\" list --names 2>/dev/null)\"; _runner_files -f -X '!*.so'";
    case Kind::choice:
      return "_runner_words '" + support::join(argument.choices, " ") + "'";
    case Kind::nothing:
    case Kind::text:
      break;
  }
  return ":";
}

/// The lines of a `case` that complete what stands after an option.
std::string bash_values(const std::string& command, const std::vector<CompletedOption>& options) {
  std::string text;
  for (const auto& [names, help, argument] : options) {
    if (argument.kind == Kind::nothing) continue;
    std::string patterns;
    for (const auto& name : names) {
      patterns.append(patterns.empty() ? "'" : " | '").append(command).append(" ").append(name).append("'");
    }
    text.append("    ").append(patterns).append(") ").append(bash_argument(argument)).append("; return ;;\n");
  }
  return text;
}

std::string with_value(const std::vector<CompletedOption>& options) {
  std::vector<std::string> names;
  for (const auto& option : options) {
    if (option.argument.kind != Kind::nothing) names.insert(names.end(), option.names.begin(), option.names.end());
  }
  return support::join(names, " | ");
}

// --- zsh ----------------------------------------------------------------------------------------------------------

/// Within '...' of _arguments, where [ ] : have a meaning.
std::string zsh_text(const std::string& text) {
  auto escaped = replaced(text, "\\", "\\\\");
  for (const auto* special : {"[", "]", ":"}) escaped = replaced(escaped, special, std::string("\\").append(special));
  return replaced(escaped, "'", "'\\''");
}

std::string zsh_argument(const Argument& argument) {
  switch (argument.kind) {
    case Kind::nothing:
      return "";
    case Kind::text:
      return ":value:";
    case Kind::file:
      return ":file:_files";
    case Kind::folder:
      return ":folder:_files -/";
    case Kind::variant:
      return ":variant:_runner_variants";
    case Kind::choice:
      break;
  }
  return ":value:(" + support::join(argument.choices, " ") + ")";
}

std::string zsh_options(const std::vector<CompletedOption>& options, const std::string& indent) {
  std::string text;
  for (const auto& [names, help, argument] : options) {
    for (const auto& name : names) {
      text.append(indent).append("'*").append(name).append("[").append(zsh_text(help)).append("]");
      text.append(zsh_argument(argument)).append("' \\\n");
    }
  }
  return text;
}

// --- fish ---------------------------------------------------------------------------------------------------------

std::string fish_text(const std::string& text) {
  return "'" + replaced(replaced(text, "\\", "\\\\"), "'", "\\'") + "'";
}

std::string fish_argument(const Argument& argument) {
  switch (argument.kind) {
    case Kind::nothing:
      return "";
    case Kind::text:
      return " -x";
    case Kind::file:
      return " -r -F";
    case Kind::folder:
      return " -x -a '(__fish_complete_directories)'";
    case Kind::variant:
      return " -F -a '(runner list --names 2>/dev/null)'";
    case Kind::choice:
      break;
  }
  return " -x -a " + fish_text(support::join(argument.choices, " "));
}

std::string fish_options(const std::string& condition, const std::vector<CompletedOption>& options) {
  std::string text;
  for (const auto& [names, help, argument] : options) {
    text += "complete -c runner -n '" + condition + "'";
    for (const auto& name : names) text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
    text += fish_argument(argument) + " -d " + fish_text(help) + "\n";
  }
  return text;
}

}  // namespace

std::string bash_completion(const CommandTree& tree) {
  std::string names, values = bash_values("", tree.options), commands;
  const auto line = [&](const std::string& command, const std::string& options, const std::string& argument) {
    commands += "    " + command + ") if [[ $current == -* ]]; then _runner_words '" + options + "'; else " + argument +
                "; fi ;;\n";
  };
  for (const auto& command : tree.commands) {
    names += (names.empty() ? "" : " ") + command.name;
    values += bash_values(command.name, command.options);
    line(command.name, joined(command.options), bash_argument(command.argument));
  }
  line("''", joined(tree.options), "_runner_words '" + names + "'");
  return filled_template("completion.bash.in",
                         {{"WITH_VALUE", with_value(tree.options)}, {"VALUES", values}, {"COMMANDS", commands}});
}

std::string zsh_completion(const CommandTree& tree) {
  std::string names, commands;
  for (const auto& command : tree.commands) {
    names += "    '" + command.name + ":" + replaced(replaced(command.help, ":", "\\:"), "'", "'\\''") + "'\n";
    const auto argument = zsh_argument(command.argument);
    commands += "        " + command.name + ") _arguments \\\n" + zsh_options(command.options, "          ") +
                (argument.empty() ? "          && return ;;\n" : "          '*" + argument + "' ;;\n");
  }
  return filled_template("completion.zsh.in",
                         {{"NAMES", names}, {"GLOBAL", zsh_options(tree.options, "    ")}, {"COMMANDS", commands}});
}

std::string fish_completion(const CommandTree& tree) {
  std::string names;
  for (const auto& command : tree.commands) names += " " + command.name;
  const auto none = "not __fish_seen_subcommand_from" + names;
  std::string text = "# Completion of runner for fish.\ncomplete -c runner -f\n" + fish_options(none, tree.options);
  for (const auto& command : tree.commands) {
    const auto seen = "__fish_seen_subcommand_from " + command.name;
    text += "complete -c runner -n '" + none + "' -a " + command.name + " -d " + fish_text(command.help) + "\n" +
            fish_options(seen, command.options);
    if (command.argument.kind != Kind::nothing && command.argument.kind != Kind::text) {
      text += "complete -c runner -n '" + seen + "'" + replaced(fish_argument(command.argument), " -r", "") + "\n";
    }
  }
  return text;
}

}  // namespace headwright::runner

// The command tree as a shell's completion needs it, and the script of each shell.
#pragma once
#include <string>
#include <vector>

namespace headwright::runner {

/// What stands after an option, or as a command's own argument.
struct Argument {
  enum class Kind { nothing, text, file, folder, variant, choice };
  Kind kind = Kind::nothing;
  std::vector<std::string> choices;
};

struct CompletedOption {
  std::vector<std::string> names;  // "-o", "--output"
  std::string help;
  Argument argument;
};

struct CompletedCommand {
  std::string name, help;
  std::vector<CompletedOption> options;
  Argument argument;
};

struct CommandTree {
  std::vector<CompletedOption> options;  // before the command
  std::vector<CompletedCommand> commands;
};

std::string bash_completion(const CommandTree& tree);
std::string zsh_completion(const CommandTree& tree);
std::string fish_completion(const CommandTree& tree);

}  // namespace headwright::runner

// Runs a command as a user would, and holds what it printed.
#pragma once
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "support/files.h"

namespace headwright::test {

struct Outcome {
  int exit_code = 0;  // 128 + the signal that ended it
  std::string standard_output, standard_error;
};

/// The argument as one word of the shell.
inline std::string quoted(const std::string& argument) {
  std::string word = "'";
  for (const char c : argument) word += c == '\'' ? "'\\''" : std::string(1, c);
  return word + "'";
}

/// Runs a line of the shell in `folder`; `scratch` is a folder for what it prints.
inline Outcome run_command(const std::string& line, const std::filesystem::path& folder,
                           const std::filesystem::path& scratch) {
  const auto out = scratch / "stdout", err = scratch / "stderr";
  const auto command =
      "cd " + quoted(folder) + " && { " + line + "; } </dev/null >" + quoted(out) + " 2>" + quoted(err);
  const auto status = std::system(command.c_str());  // NOLINT(bugprone-command-processor): the shell is what is meant
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  constexpr std::size_t kMost = 16 << 20;
  return {code, support::read_file(out, kMost), support::read_file(err, kMost)};
}

}  // namespace headwright::test

// The commands of the runner, as its help lists them.
#pragma once
#include <sstream>
#include <string>
#include <vector>

#include "helpers/command.h"

namespace headwright::test {

/// scratch: a folder for what is printed.
inline std::vector<std::string> commands_of(const std::string& runner, const std::filesystem::path& scratch) {
  std::istringstream help(run_command(runner + " --help", scratch, scratch).standard_output);
  std::vector<std::string> commands;
  bool listed = false;
  for (std::string line; std::getline(help, line);) {
    if (line == "Subcommands:") {
      listed = true;
    } else if (listed && line.starts_with("  ") && line.size() > 2 && line[2] != ' ') {
      commands.push_back(line.substr(2, line.find(' ', 2) - 2));
    }
  }
  return commands;
}

}  // namespace headwright::test

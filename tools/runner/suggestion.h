// A misspelt command or option gets the nearest one as a hint, which CLI11 alone does not give.
#pragma once
#include <CLI/App.hpp>
#include <string>
#include <vector>

namespace headwright::runner {

/// One line: what is wrong with the command line, what was probably meant, where help is.
std::string usage_message(const CLI::App& app, const std::vector<std::string>& arguments, const CLI::ParseError& error);

}  // namespace headwright::runner

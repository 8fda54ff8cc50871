// Prints problems, the first ten and a count, without codes for a terminal.
#include "problems.h"

#include <algorithm>

#include "support/text.h"

namespace headwright::runner {
namespace {

constexpr std::size_t kShown = 10, kShownAsJson = 1000;
constexpr std::size_t kLongestLine = 4000;  // a list of all variants is about 500 characters

/// The first lines, each of them printable and not endless; how many were left out.
std::pair<std::vector<std::string>, std::size_t> first_lines(const std::string& text, std::size_t most) {
  auto lines = support::split(text, '\n');
  const auto more = lines.size() - std::min(lines.size(), most);
  lines.resize(lines.size() - more);
  for (auto& line : lines) line = support::printable(line, kLongestLine);
  return {std::move(lines), more};
}

std::string bounded(const std::string& text, std::size_t most) {
  const auto [lines, more] = first_lines(text, most);
  return support::join(lines, "\n") + (more == 0 ? "" : "\n... and " + std::to_string(more) + " more lines");
}

Json as_json(const Problem& problem) {
  return {{"file", problem.file},
          {"line", problem.line},
          {"column", problem.column},
          {"path", bounded(problem.path, 1)},
          {"message", bounded(problem.message, kShownAsJson)},
          {"suggestion", bounded(problem.suggestion, 1)}};
}

}  // namespace

std::string problems_text(const std::vector<Problem>& problems) {
  std::string text;
  for (std::size_t i = 0; i < std::min(problems.size(), kShown); ++i) {
    const auto& problem = problems[i];
    text += bounded(problem.file.empty() ? "runner: " + problem.message : problem.to_string(), kShown) + "\n";
  }
  if (problems.size() <= kShown) return text;
  return text + "... and " + std::to_string(problems.size() - kShown) + " more problems; --json lists them\n";
}

Json problems_json(const std::vector<Problem>& problems, int exit_code) {
  Json object{{"errors", Json::array()}, {"exit_code", exit_code}};
  const auto shown = std::min(problems.size(), kShownAsJson);
  for (std::size_t i = 0; i < shown; ++i) object["errors"].push_back(as_json(problems[i]));
  if (shown < problems.size()) object["omitted"] = problems.size() - shown;
  return object;
}

}  // namespace headwright::runner

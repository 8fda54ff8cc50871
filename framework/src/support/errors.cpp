// The exceptions' key functions, and how problems print.
#include "headwright/errors.h"

namespace headwright {

// The destructors anchor each type in this library, so that an exception thrown by a plugin is caught by its type here.
Error::~Error() = default;
ShapeError::~ShapeError() = default;
InputError::~InputError() = default;
FileError::~FileError() = default;
PluginError::~PluginError() = default;
ResourceError::~ResourceError() = default;
ConfigError::~ConfigError() = default;

std::string Problem::to_string() const {
  std::string text = file;
  if (line > 0) text += ":" + std::to_string(line) + ":" + std::to_string(column);
  text += ": ";
  if (!path.empty()) text += path + ": ";
  text += message;
  if (!suggestion.empty()) text += "; did you mean '" + suggestion + "'?";
  return text;
}

namespace {
std::string joined(const std::vector<Problem>& problems) {
  std::string text;
  for (const auto& problem : problems) text += (text.empty() ? "" : "\n") + problem.to_string();
  return text;
}
}  // namespace

ConfigError::ConfigError(std::vector<Problem> problems) : Error(joined(problems)), problems_(std::move(problems)) {}

}  // namespace headwright

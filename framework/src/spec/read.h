// Inside the room: one strict reading for files and for the values of options.
#pragma once
#include <yaml-cpp/exceptions.h>

#include <optional>
#include <string>
#include <utility>

#include "spec/builder.h"

namespace headwright::spec {

/// The value that the text holds; nothing where it is blank. Throws ConfigError.
std::optional<Node> read(const Source& source);

/// yaml-cpp's issue in words that say what to try, and the byte it is about.
std::pair<std::size_t, std::string> explain(const YAML::Exception& error, const Source& source, const Builder& builder);

}  // namespace headwright::spec

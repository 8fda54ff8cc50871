// Reads a file or a text, and applies overrides to its tree.
#include "spec/load.h"

#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <sstream>

#include "spec/builder.h"
#include "spec/not_a_config.h"
#include "spec/read.h"
#include "support/files.h"

namespace headwright::spec {
namespace {

constexpr std::size_t kLargestFile = 4 << 20;  // bytes; tensors that need more belong into files of their own

[[noreturn]] void refuse(const std::string& file, const std::string& message) {
  throw ConfigError({Problem{.file = file, .message = message}});
}

std::string read_text(const std::filesystem::path& path) {
  if (const auto other = what_it_is_instead(path); !other.empty()) refuse(path.string(), other);
  try {
    return support::read_file(path, kLargestFile);
  } catch (const InputError& error) {
    // The message begins with the path, and so does every problem
    const auto prefix = path.string() + ": ";
    const std::string message = error.what();
    refuse(path.string(), message.starts_with(prefix) ? message.substr(prefix.size()) : message);
  }
}

}  // namespace

std::optional<Node> read(const Source& source) {
  source.check_characters();
  Builder builder(source);
  std::istringstream stream{std::string(source.text())};
  try {
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(builder)) {
    }
  } catch (const YAML::Exception& error) {
    builder.check_brackets();
    const auto [at, message] = explain(error, source, builder);
    builder.fail(at, message);
  }
  return builder.finish();
}

Node load(const std::filesystem::path& path) { return parse(read_text(path), path.string()); }

Node parse(std::string_view text, const std::string& file) {
  auto root = read(Source(text, file));
  if (!root || (root->type == Node::Type::null)) refuse(file, "is empty, expected a config such as 'model: ...'");
  return std::move(*root);
}

}  // namespace headwright::spec

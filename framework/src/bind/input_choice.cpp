// Turns `--input`, `--tokens` and `--random` into the input section of the config.
#include "bind/input_choice.h"

#include <algorithm>
#include <array>
#include <filesystem>

#include "spec/load.h"
#include "support/text.h"

namespace headwright::bind {
namespace {

using spec::Node;

std::string as_rows(const std::string& text) {
  std::string rows;
  for (const auto& row : support::split(text, ';')) rows += (rows.empty() ? "[" : ", [") + row + "]";
  return "[" + rows + "]";
}

/// In quotes, whatever the path contains.
std::string quoted(const std::string& text) {
  std::string safe;
  for (const char c : text) safe += c == '\'' ? "''" : std::string(1, c);
  return "'" + safe + "'";
}

/// A path on the command line is seen from the current folder, not from the config's.
std::string absolute(const std::string& path) { return std::filesystem::absolute(path).string(); }

}  // namespace

void choose_input(Node& root, const InputChoice& choice) {
  if (Node* input = root.find("input"); input != nullptr && input->type == Node::Type::map) {
    std::erase_if(input->entries, [](const spec::Entry& entry) {
      constexpr std::array keys{"values", "tokens", "file", "tensor", "random", "lengths", "key_mask", "document_ids"};
      return std::ranges::any_of(keys, [&](const char* key) { return entry.key == key; });
    });
  }
  switch (choice.key) {
    case InputChoice::Key::tokens:
      return apply_override(root, "input.tokens=" + as_rows(choice.text));
    case InputChoice::Key::random:
      return apply_override(root, "input.random.shape=[" + choice.text + "]");
    case InputChoice::Key::file:
      break;
  }
  const auto colon = choice.text.rfind(".safetensors:");
  if (colon == std::string::npos) return apply_override(root, "input.file=" + quoted(absolute(choice.text)));
  const auto end = colon + std::string(".safetensors").size();
  apply_override(root, "input.file=" + quoted(absolute(choice.text.substr(0, end))));
  apply_override(root, "input.tensor=" + quoted(choice.text.substr(end + 1)));
}

}  // namespace headwright::bind

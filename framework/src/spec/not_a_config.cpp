// Recognises weights, exports, arrays and folders by how they begin.
#include "spec/not_a_config.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <string_view>
#include <vector>

#include "support/text.h"

namespace headwright::spec {
namespace {

namespace fs = std::filesystem;
using namespace std::string_view_literals;

/// A kind of file: how it begins, how its name ends, and who takes it.
struct Kind {
  std::string_view begins;
  std::array<std::string_view, 4> endings;
  std::string_view name, taken_by;
};

constexpr std::string_view kTensors =
    "'runner forward CONFIG --input FILE' takes an input from it, 'runner compare' takes two of them";
constexpr std::string_view kNoCommand = "no command reads it; save the tensors as .safetensors";

// Of two that begin alike, the first is meant unless the name says the other.
constexpr std::array kKinds{
    Kind{"\x93NUMPY"sv, {".npy"}, "a tensor (.npy)", kTensors},
    Kind{"PK\x03\x04"sv,
         {".pt", ".pth", ".bin", ".ckpt"},
         "a model or weights as torch saves them (a zip archive)",
         "'runner inspect FILE' shows what an export holds; save other weights as .safetensors"},
    Kind{"PK\x03\x04"sv, {".npz"}, "an archive of arrays (.npz)", "no command reads it; save each array as .npy"},
    Kind{"\x80"sv, {".pkl", ".pickle"}, "a Python pickle, as torch.save wrote it before 1.6", kNoCommand},
    Kind{"GGUF"sv, {".gguf", ".ggml"}, "a model for llama.cpp (.gguf)", kNoCommand},
    Kind{"\x89HDF\r\n"sv, {".h5", ".hdf5", ".keras"}, "a file of arrays (HDF5)", kNoCommand},
    Kind{"\x7f"
         "ELF"sv,
         {".so"},
         "a shared library",
         "'runner check FILE' tests a plugin, '--plugin-path FILE' makes it known"},
    Kind{{}, {".onnx"}, "a model (.onnx)", "no command reads it"},
    Kind{{},
         {".safetensors"},
         "a file of tensors (.safetensors)",
         "'runner inspect FILE' shows what an export holds, 'runner forward CONFIG --input FILE:TENSOR' takes an input "
         "from it, 'runner compare' takes two of them"}};

/// The 8-byte length of a JSON header, and its brace.
bool begins_as_safetensors(std::string_view head) {
  return head.size() > 8 && head[8] == '{' && head.substr(4, 4) == "\0\0\0\0"sv;
}

bool has_ending(const Kind& kind, const std::string& ending) {
  return !ending.empty() && std::ranges::find(kind.endings, ending) != kind.endings.end();
}

const Kind* kind_of(std::string_view head, const std::string& ending) {
  if (begins_as_safetensors(head)) return &kKinds.back();
  const Kind* found = nullptr;
  for (const auto& kind : kKinds) {
    if (kind.begins.empty() || !head.starts_with(kind.begins)) continue;
    if (found == nullptr || has_ending(kind, ending)) found = &kind;
  }
  if (found != nullptr) return found;
  // A damaged one is still told by its name; text under such a name is read as a config
  const bool text = !head.empty() && head.find('\0') == std::string_view::npos && !support::invalid_utf8(head);
  const auto* named = std::ranges::find_if(kKinds, [&](const Kind& kind) { return has_ending(kind, ending); });
  return text || named == kKinds.end() ? nullptr : named;
}

std::string folder_text(const fs::path& folder) {
  std::vector<std::string> configs;
  std::error_code ignored;
  for (auto entry = fs::directory_iterator(folder, ignored); !ignored && entry != fs::directory_iterator();
       entry.increment(ignored)) {
    const auto ending = entry->path().extension();
    if (ending == ".yaml" || ending == ".yml") configs.push_back(entry->path().filename().string());
  }
  std::ranges::sort(configs);
  constexpr std::size_t kShown = 5;
  const auto more = configs.size() > kShown ? ", ..." : "";
  configs.resize(std::min(configs.size(), kShown));
  return "is a folder, expected a YAML config" +
         (configs.empty() ? "" : "; it holds " + support::printable(support::join(configs, ", "), 400) + more);
}

}  // namespace

std::string what_it_is_instead(const fs::path& path) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) return folder_text(path);
  if (!fs::is_regular_file(path, ignored)) return "";  // opening a pipe would wait
  std::array<char, 512> bytes{};
  std::ifstream file(path, std::ios::binary);
  if (!file) return "";
  file.read(bytes.data(), bytes.size());
  auto ending = path.extension().string();
  std::ranges::transform(ending, ending.begin(), [](unsigned char c) { return std::tolower(c); });
  const auto* kind = kind_of({bytes.data(), static_cast<std::size_t>(file.gcount())}, ending);
  if (kind == nullptr) return "";
  return "is " + std::string(kind->name) + ", expected a YAML config; " + std::string(kind->taken_by);
}

}  // namespace headwright::spec

// Verdicts remembered between runs, in one small JSON file. Losing it only costs time.
#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "registry/seal.h"
#include "registry/verdict.h"

namespace headwright::registry {

class Cache {
 public:
  /// folder: none = nothing is remembered.
  explicit Cache(const std::optional<std::filesystem::path>& folder);

  /// The verdict on a file with these contents by this very runner, if one is known. Touching a refused file has it
  /// tried again, since the cause may have been outside.
  std::optional<Verdict> find(const std::filesystem::path& file, const Contents& contents) const;

  /// contents: taken before the file was tried, so that one that changes meanwhile is not taken for it.
  void add(const std::filesystem::path& file, const Contents& contents, const Verdict& verdict);

  struct Entry {
    std::uint64_t hash;
    std::int64_t modified;
    std::string runner;  // who tried it: toolchain, ABI, and the build of libheadwright
    Verdict verdict;
  };

  /// Writes what was added, joined with what other processes wrote meanwhile.
  void save();

 private:
  using Entries = std::map<std::string, Entry>;
  static Entries read(const std::filesystem::path& file);
  static void write(const std::filesystem::path& file, const Entries& entries);

  std::optional<std::filesystem::path> file_;
  std::string runner_;
  Entries entries_, added_;
};

}  // namespace headwright::registry

// Verdicts remembered between runs, in one small JSON file. Losing it only costs time.
#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "registry/verdict.h"

namespace headwright::registry {

/// What tells a file from another one at the same path.
struct FileState {
  std::uintmax_t size = 0;
  std::int64_t modified = 0;  // nanoseconds of the file clock
  bool operator==(const FileState&) const = default;
};

class Cache {
 public:
  /// folder: none = nothing is remembered.
  explicit Cache(const std::optional<std::filesystem::path>& folder);

  /// The verdict on this very file by this very runner, if one is known. A file whose time alone changed is compared by
  /// its SHA-256; touching a refused one has it tried again, since the cause may have been outside.
  std::optional<Verdict> find(const std::filesystem::path& file);

  /// What is known of a file, to be asked for before it is tried: one that changes meanwhile is then not taken for the
  /// one that was tried. Nothing where it cannot be read.
  struct Entry {
    FileState state;
    std::string sha256;
    std::string runner;  // who tried it: toolchain, ABI, and the build of libheadwright
    Verdict verdict;
  };
  std::optional<Entry> entry_for(const std::filesystem::path& file) const;
  void add(const std::filesystem::path& file, Entry entry);

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

// The checksum that a plugin library carries behind its end. Damage is found by it before the library is opened, which
// is when damage ends a process.
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace headwright::registry {

/// What a library's file holds, read once from end to end.
struct Contents {
  std::uint64_t hash = 0;     // XXH3 of all that stands before the seal
  std::int64_t modified = 0;  // nanoseconds since the epoch
  bool sealed = false;
  std::string fault;  // what speaks against the seal; empty = nothing
};

/// Nothing where `file` is no regular file or cannot be read.
std::optional<Contents> contents_of(const std::filesystem::path& file);

/// Writes a seal behind the end of `file`, in place of an old one. Throws InputError where it cannot be read, FileError
/// where it cannot be written.
void seal_library(const std::filesystem::path& file);

}  // namespace headwright::registry

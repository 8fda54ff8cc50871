// Files are read whole with a limit, and written whole or not at all.
#pragma once
#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace headwright::support {

/// Reads a regular file of at most `largest` bytes. Throws InputError: not there, a folder, no permission, too large.
std::string read_file(const std::filesystem::path& path, std::size_t largest);

/// Writes a file that has no name until it is whole, in the folder of `path`, then puts it there in one step. Whatever
/// fails or ends the process, an old file at `path` stays whole. Where the file system knows no files without a name, a
/// temporary one stands in: a signal's handler removes it, and what a killed process left goes with the next write into
/// that folder. Throws FileError naming the path and the cause.
class AtomicFile {
 public:
  enum class Way { automatic, named };  // named: as where every file needs a name

  explicit AtomicFile(std::filesystem::path path, Way way = Way::automatic);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(const void* data, std::size_t size);
  void write(std::string_view text) { write(text.data(), text.size()); }

  /// A path to what was written so far, for a second look before it counts.
  const std::filesystem::path& temporary() const { return temporary_; }
  void flush();

  /// fsync, then under its name. Without it the destructor removes what was written.
  void commit();

 private:
  void open_without_name(const std::filesystem::path& folder);
  void open_with_name(const std::filesystem::path& folder);
  void write_through(const char* data, std::size_t size);
  void take_name();

  std::filesystem::path path_, temporary_;
  std::string buffer_;
  int descriptor_ = -1;
  bool named_ = false;  // temporary_ is a name in the folder
};

/// Removes the temporary files of writes that have not ended. Async-signal-safe: for a handler that ends the process.
void remove_unfinished_files() noexcept;

/// AtomicFile for a text that is already there.
void write_file(const std::filesystem::path& path, std::string_view text);

/// Folder of the running executable.
std::filesystem::path executable_folder();

/// Folder for cached verdicts: $XDG_CACHE_HOME/headwright, else ~/.cache/headwright; nothing where neither is set.
std::optional<std::filesystem::path> cache_folder();

}  // namespace headwright::support

// Reads with a limit, and writes through a file that has no name until it is whole.
#include "support/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <system_error>

#include "headwright/errors.h"
#include "support/file_errors.h"

namespace headwright::support {
namespace fs = std::filesystem;
namespace {

[[noreturn]] void cannot_read(const fs::path& path, const std::string& why) {
  throw InputError(path.string() + ": cannot be read: " + why);
}

}  // namespace

std::string file_error_text(int code) {
  switch (code) {
    case ENOENT:
      return "no such file or folder";
    case ENOTDIR:
      return "part of the path is not a folder";
    case EACCES:
    case EPERM:
      return "no permission";
    case ENOSPC:
      return "the disk is full";
    case EFBIG:
      return "the file would be larger than this process may write";
    case EDQUOT:
      return "the disk quota is used up";
    case EROFS:
      return "the file system is read-only";
    case EISDIR:
      return "is a folder, expected a file";
    case ENAMETOOLONG:
      return "the name is too long";
    default:
      return std::generic_category().message(code);
  }
}

std::string read_file(const fs::path& path, std::size_t largest) {
  // O_NONBLOCK: opening a pipe that nobody writes to would wait for ever
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.number < 0) cannot_read(path, file_error_text(errno));
  struct stat info{};
  if (::fstat(file.number, &info) != 0) cannot_read(path, file_error_text(errno));
  if (S_ISDIR(info.st_mode)) cannot_read(path, file_error_text(EISDIR));
  if (!S_ISREG(info.st_mode)) cannot_read(path, "is not a regular file");

  const auto too_large = [&] {
    cannot_read(path, "larger than " + std::to_string(largest) + " bytes, the most that is accepted here");
  };
  const auto size = static_cast<std::size_t>(info.st_size);
  if (size > largest) too_large();
  std::string text(size + 1, '\0');  // one more than expected, to meet the end; files of /proc say that they are empty
  std::size_t filled = 0;
  while (true) {
    const auto got = ::read(file.number, text.data() + filled, text.size() - filled);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) cannot_read(path, file_error_text(errno));
    if (got == 0) break;
    filled += static_cast<std::size_t>(got);
    if (filled > largest) too_large();
    if (filled == text.size()) text.resize(2 * text.size());
  }
  text.resize(filled);
  return text;
}

void write_file(const fs::path& path, std::string_view text) {
  AtomicFile file(path);
  file.write(text);
  file.commit();
}

fs::path executable_folder() { return fs::read_symlink("/proc/self/exe").parent_path(); }

std::optional<fs::path> cache_folder() {
  // A relative XDG_CACHE_HOME is to be ignored, says its specification
  const char* cache = std::getenv("XDG_CACHE_HOME");
  if (cache && fs::path(cache).is_absolute()) return fs::path(cache) / "headwright";
  const char* home = std::getenv("HOME");
  if (home && *home) return fs::path(home) / ".cache" / "headwright";
  return std::nullopt;
}

}  // namespace headwright::support

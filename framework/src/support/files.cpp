#include "support/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <system_error>

#include "headwright/errors.h"

namespace headwright::support {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kBuffer = 1 << 16;

std::string reason(int code) {
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

[[noreturn]] void cannot_read(const fs::path& path, const std::string& why) {
  throw InputError(path.string() + ": cannot be read: " + why);
}

[[noreturn]] void cannot_write(const fs::path& path, const std::string& why) {
  throw FileError(path.string() + ": cannot be written: " + why);
}

struct Descriptor {
  int number;
  ~Descriptor() {
    if (number >= 0) ::close(number);
  }
};

/// Syncs a folder, so that a rename in it lasts. Some file systems cannot; the file itself is already on disk.
void sync_folder(const fs::path& folder) {
  const Descriptor opened{::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (opened.number >= 0) ::fsync(opened.number);
}

/// Where writing to `path` leads: through symbolic links, to a regular file or to nothing yet.
fs::path target_of(const fs::path& path) {
  std::error_code failed;
  const auto kind = fs::status(path, failed).type();
  if (kind == fs::file_type::directory) cannot_write(path, reason(EISDIR));
  if (kind != fs::file_type::regular && kind != fs::file_type::not_found && kind != fs::file_type::none) {
    cannot_write(path, "is not a regular file");  // a rename would replace /dev/null itself
  }
  if (kind == fs::file_type::regular && ::faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) != 0) {
    cannot_write(path, reason(errno));
  }
  return fs::is_symlink(path, failed) ? fs::weakly_canonical(path, failed) : path;
}

}  // namespace

std::string read_file(const fs::path& path, std::size_t largest) {
  // O_NONBLOCK: opening a pipe that nobody writes to would wait for ever
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (file.number < 0) cannot_read(path, reason(errno));
  struct stat info{};
  if (::fstat(file.number, &info) != 0) cannot_read(path, reason(errno));
  if (S_ISDIR(info.st_mode)) cannot_read(path, reason(EISDIR));
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
    if (got < 0) cannot_read(path, reason(errno));
    if (got == 0) break;
    filled += static_cast<std::size_t>(got);
    if (filled > largest) too_large();
    if (filled == text.size()) text.resize(2 * text.size());
  }
  text.resize(filled);
  return text;
}

namespace {

/// Paths of the temporary files that are being written, where a signal handler can read them. A write beyond the last
/// slot is still whole or not at all; only its temporary file would outlive a signal.
std::array<std::atomic<const char*>, 16> unfinished{};

void remember(const char* path) {
  for (auto& slot : unfinished) {
    const char* empty = nullptr;
    if (slot.compare_exchange_strong(empty, path)) return;
  }
}

void forget(const char* path) {
  for (auto& slot : unfinished) {
    const char* held = path;
    if (slot.compare_exchange_strong(held, nullptr)) return;
  }
}

}  // namespace

void remove_unfinished_files() noexcept {
  for (const auto& slot : unfinished) {
    if (const char* path = slot.load()) ::unlink(path);
  }
}

AtomicFile::AtomicFile(fs::path path) : path_(target_of(path)) {
  static std::atomic<unsigned> counter{0};
  const auto folder = path_.has_parent_path() ? path_.parent_path() : fs::path(".");
  do {
    const auto name = ".headwright-" + std::to_string(::getpid()) + "-" + std::to_string(counter++) + ".tmp";
    temporary_ = folder / name;
    // 0666 is narrowed by the umask, as for any new file
    descriptor_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  } while (descriptor_ < 0 && errno == EEXIST);
  if (descriptor_ < 0) cannot_write(path_, reason(errno));
  remember(temporary_.c_str());
  struct stat old{};
  if (::stat(path_.c_str(), &old) == 0) ::fchmod(descriptor_, old.st_mode & 07777U);
}

AtomicFile::~AtomicFile() {
  forget(temporary_.c_str());
  if (descriptor_ < 0) return;
  ::close(descriptor_);
  ::unlink(temporary_.c_str());
}

void AtomicFile::write(const void* data, std::size_t size) {
  if (buffer_.size() + size > kBuffer) flush();
  if (size > kBuffer) {
    write_through(static_cast<const char*>(data), size);
  } else {
    buffer_.append(static_cast<const char*>(data), size);
  }
}

void AtomicFile::flush() {
  write_through(buffer_.data(), buffer_.size());
  buffer_.clear();
}

void AtomicFile::write_through(const char* data, std::size_t size) {
  while (size > 0) {
    const auto done = ::write(descriptor_, data, size);
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) cannot_write(path_, reason(errno));
    data += done;
    size -= static_cast<std::size_t>(done);
  }
}

void AtomicFile::commit() {
  flush();
  if (::fsync(descriptor_) != 0) cannot_write(path_, reason(errno));
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) cannot_write(path_, reason(errno));
  ::close(descriptor_);
  descriptor_ = -1;
  sync_folder(path_.has_parent_path() ? path_.parent_path() : fs::path("."));
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

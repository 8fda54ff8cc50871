// Files that are written whole or not at all.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <system_error>

#include "headwright/errors.h"
#include "support/file_errors.h"
#include "support/files.h"

namespace headwright::support {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kBuffer = 1 << 16;

[[noreturn]] void cannot_write(const fs::path& path, const std::string& why) {
  throw FileError(path.string() + ": cannot be written: " + why);
}

/// Syncs a folder, so that a rename in it lasts. Some file systems cannot; the file itself is already on disk.
void sync_folder(const fs::path& folder) {
  const Descriptor opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (opened.number >= 0) ::fsync(opened.number);
}

/// Where writing to `path` leads: through symbolic links, to a regular file or to nothing yet.
fs::path target_of(const fs::path& path) {
  std::error_code failed;
  const auto kind = fs::status(path, failed).type();
  if (kind == fs::file_type::directory) cannot_write(path, file_error_text(EISDIR));
  if (kind != fs::file_type::regular && kind != fs::file_type::not_found && kind != fs::file_type::none) {
    cannot_write(path, "is not a regular file");  // a rename would replace /dev/null itself
  }
  if (kind == fs::file_type::regular && ::faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) != 0) {
    cannot_write(path, file_error_text(errno));
  }
  return fs::is_symlink(path, failed) ? fs::weakly_canonical(path, failed) : path;
}

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

fs::path folder_of(const fs::path& path) { return path.has_parent_path() ? path.parent_path() : fs::path("."); }

fs::path next_name(const fs::path& folder) {
  static std::atomic<unsigned> counter{0};
  return folder / (".headwright-" + std::to_string(::getpid()) + "-" + std::to_string(counter++) + ".tmp");
}

/// Removes what killed processes left in the folder. Whoever writes such a file holds a lock on it while it lives; an
/// id of a process would say nothing about another container that writes into the same folder.
void remove_abandoned(const fs::path& folder) {
  std::error_code failed;
  for (auto entry = fs::directory_iterator(folder, failed); !failed && entry != fs::directory_iterator();
       entry.increment(failed)) {
    const auto& path = entry->path();
    const auto name = path.filename().string();
    if (!name.starts_with(".headwright-") || !name.ends_with(".tmp")) continue;
    const Descriptor file(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW));
    if (file.number >= 0 && ::flock(file.number, LOCK_EX | LOCK_NB) == 0) ::unlink(path.c_str());
  }
}

}  // namespace

void remove_unfinished_files() noexcept {
  for (const auto& slot : unfinished) {
    if (const char* path = slot.load()) ::unlink(path);
  }
}

AtomicFile::AtomicFile(fs::path path, Way way) : path_(target_of(path)) {
  const auto folder = folder_of(path_);
  remove_abandoned(folder);
  if (way == Way::automatic) open_without_name(folder);
  if (descriptor_ < 0) open_with_name(folder);
  struct stat old{};
  if (::stat(path_.c_str(), &old) == 0) ::fchmod(descriptor_, old.st_mode & 07777U);
}

// 0666 is narrowed by the umask, as for any new file
void AtomicFile::open_without_name(const fs::path& folder) {
  const int opened = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);
  if (opened < 0) return;
  temporary_ = "/proc/self/fd/" + std::to_string(opened);
  struct stat info{};
  if (::stat(temporary_.c_str(), &info) == 0) {  // without /proc it could not be given a name
    ::flock(opened, LOCK_EX | LOCK_NB);
    descriptor_ = opened;
  } else {
    ::close(opened);
  }
}

void AtomicFile::open_with_name(const fs::path& folder) {
  while (true) {
    temporary_ = next_name(folder);
    descriptor_ = ::open(temporary_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor_ < 0 && errno == EEXIST) continue;
    if (descriptor_ < 0) cannot_write(path_, file_error_text(errno));
    ::flock(descriptor_, LOCK_EX);
    struct stat info{};
    if (::fstat(descriptor_, &info) == 0 && info.st_nlink > 0) break;
    ::close(descriptor_);  // somebody took it for abandoned before it was locked
  }
  named_ = true;
  remember(temporary_.c_str());
}

AtomicFile::~AtomicFile() {
  if (named_) forget(temporary_.c_str());
  if (descriptor_ < 0) return;
  ::close(descriptor_);
  if (named_) ::unlink(temporary_.c_str());
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
    if (done < 0) cannot_write(path_, file_error_text(errno));
    data += done;
    size -= static_cast<std::size_t>(done);
  }
}

/// A new file takes its name at once; one that replaces another needs a name of its own for the rename.
void AtomicFile::take_name() {
  auto name = path_;
  while (::linkat(AT_FDCWD, temporary_.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) != 0) {
    if (errno != EEXIST) cannot_write(path_, file_error_text(errno));
    name = next_name(folder_of(path_));
  }
  if (name == path_) return;
  temporary_ = name;
  named_ = true;
  remember(temporary_.c_str());
}

void AtomicFile::commit() {
  flush();
  if (::fsync(descriptor_) != 0) cannot_write(path_, file_error_text(errno));
  if (!named_) take_name();
  if (named_ && ::rename(temporary_.c_str(), path_.c_str()) != 0) cannot_write(path_, file_error_text(errno));
  ::close(descriptor_);
  descriptor_ = -1;
  sync_folder(folder_of(path_));
}

}  // namespace headwright::support

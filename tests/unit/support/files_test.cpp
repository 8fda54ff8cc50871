// Files are written whole or not at all.
#include "support/files.h"

#include <gmock/gmock.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <fstream>

#include "headwright/errors.h"

namespace headwright::support {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::ThrowsMessage;

/// A folder of its own for each test.
class Files : public testing::Test {
 protected:
  Files() { fs::create_directories(folder_); }
  ~Files() override { fs::remove_all(folder_); }

  std::size_t entries() const { return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_), {})); }

  const fs::path folder_ = fs::temp_directory_path() / ("headwright_files_" + std::to_string(::getpid()));
  const fs::path path_ = folder_ / "out.txt";
};

unsigned mode_of(const fs::path& path) { return static_cast<unsigned>(fs::status(path).permissions()); }

TEST_F(Files, ReadsUpToTheLimit) {
  write_file(path_, "hello");
  EXPECT_EQ(read_file(path_, 5), "hello");
  EXPECT_THAT([&] { read_file(path_, 4); }, ThrowsMessage<InputError>(HasSubstr("larger than 4 bytes")));
}

TEST_F(Files, ReadsAnEmptyFileAndOneThatHidesItsSize) {
  write_file(path_, "");
  EXPECT_EQ(read_file(path_, 0), "");
  EXPECT_THAT(read_file("/proc/self/status", 1 << 20), HasSubstr("VmRSS"));  // its size is said to be 0
}

TEST_F(Files, SaysWhyAFileCannotBeRead) {
  const auto reading = [](const fs::path& path) { return [path] { read_file(path, 100); }; };
  EXPECT_THAT(reading(folder_ / "none"), ThrowsMessage<InputError>(HasSubstr("none: cannot be read: no such file")));
  EXPECT_THAT(reading(folder_), ThrowsMessage<InputError>(HasSubstr("is a folder")));
  EXPECT_THAT(reading("/dev/zero"), ThrowsMessage<InputError>(HasSubstr("is not a regular file")));
  write_file(path_, "x");
  EXPECT_THAT(reading(path_ / "y"), ThrowsMessage<InputError>(HasSubstr("part of the path is not a folder")));
}

TEST_F(Files, DoesNotWaitForAPipe) {
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  EXPECT_THAT([&] { read_file(path_, 100); }, ThrowsMessage<InputError>(HasSubstr("is not a regular file")));
  EXPECT_THAT([&] { write_file(path_, "x"); }, ThrowsMessage<FileError>(HasSubstr("is not a regular file")));
}

TEST_F(Files, ReplacesAFileAsAWhole) {
  write_file(path_, "old");
  {
    AtomicFile file(path_);
    const std::string large(200000, 'x');  // more than the buffer holds
    file.write("new ");
    file.write(large);
    file.write(" end");
    file.flush();
    EXPECT_EQ(fs::file_size(file.temporary()), 4 + large.size() + 4);
    EXPECT_EQ(read_file(path_, 100), "old");
    file.commit();
    EXPECT_EQ(read_file(path_, 1 << 20), "new " + large + " end");
  }
  EXPECT_EQ(entries(), 1U);
}

TEST_F(Files, LeavesNothingBehindWithoutACommit) {
  write_file(path_, "old");
  for (const auto way : {AtomicFile::Way::automatic, AtomicFile::Way::named}) {
    AtomicFile(path_, way).write("half of it");
    EXPECT_EQ(read_file(path_, 100), "old");
    EXPECT_EQ(entries(), 1U);
  }
}

TEST_F(Files, AreWrittenAlikeWithAndWithoutATemporaryName) {
  for (const auto way : {AtomicFile::Way::automatic, AtomicFile::Way::named}) {
    for (const std::string text : {"new", "newer"}) {  // a new file, then one that replaces it
      AtomicFile file(path_, way);
      file.write(text);
      file.flush();
      EXPECT_EQ(read_file(file.temporary(), 100), text);
      file.commit();
      EXPECT_EQ(read_file(path_, 100), text);
      EXPECT_EQ(mode_of(path_), 0644U);
    }
    EXPECT_EQ(entries(), 1U);
    fs::remove(path_);
  }
}

/// Begins to write in a process that is then killed.
void write_and_be_killed(const fs::path& path, AtomicFile::Way way) {
  const auto child = ::fork();
  if (child == 0) {
    AtomicFile file(path, way);
    file.write("half of it");
    file.flush();
    ::raise(SIGKILL);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status));
}

TEST_F(Files, AKilledProcessLeavesNothing) {
  write_file(path_, "old");
  write_and_be_killed(path_, AtomicFile::Way::automatic);
  if (entries() != 1U) GTEST_SKIP() << "this file system knows no files without a name";
  EXPECT_EQ(read_file(path_, 100), "old");
}

TEST_F(Files, WhatAKilledProcessLeftGoesWithTheNextWriteAndNothingElse) {
  for (int i = 0; i < 3; ++i) write_and_be_killed(folder_ / "other", AtomicFile::Way::named);
  EXPECT_EQ(entries(), 1U);  // the last one
  std::ofstream(folder_ / ".headwright-notes") << "mine";
  EXPECT_EQ(entries(), 2U);
  AtomicFile alive(folder_ / "third", AtomicFile::Way::named);
  EXPECT_EQ(entries(), 2U);
  write_file(path_, "new");
  EXPECT_TRUE(fs::exists(alive.temporary()));  // of a process that lives
  alive.commit();
  EXPECT_EQ(entries(), 3U);
}

TEST_F(Files, GivesANewFileTheUsualPermissions) {
  const auto old = ::umask(022);
  write_file(path_, "x");
  ::umask(077);
  write_file(folder_ / "private", "x");
  ::umask(old);
  EXPECT_EQ(mode_of(path_), 0644U);
  EXPECT_EQ(mode_of(folder_ / "private"), 0600U);
}

TEST_F(Files, KeepsThePermissionsOfTheFileThatItReplaces) {
  write_file(path_, "old");
  ASSERT_EQ(::chmod(path_.c_str(), 0640), 0);
  write_file(path_, "new");
  EXPECT_EQ(mode_of(path_), 0640U);
}

TEST_F(Files, WritesThroughASymbolicLink) {
  write_file(folder_ / "target", "old");
  fs::create_symlink(folder_ / "target", path_);
  write_file(path_, "new");
  EXPECT_TRUE(fs::is_symlink(path_));
  EXPECT_EQ(read_file(folder_ / "target", 100), "new");
}

TEST_F(Files, SaysWhyAFileCannotBeWritten) {
  const auto writing = [](const fs::path& path) { return [path] { write_file(path, "x"); }; };
  EXPECT_THAT(writing(folder_), ThrowsMessage<FileError>(HasSubstr("is a folder")));
  EXPECT_THAT(writing(folder_ / "none" / "x"), ThrowsMessage<FileError>(HasSubstr("no such file or folder")));
  EXPECT_THAT(writing(folder_ / std::string(300, 'n')), ThrowsMessage<FileError>(HasSubstr("the name is too long")));
  EXPECT_THAT(writing("/proc/self/none"), ThrowsMessage<FileError>(HasSubstr("/proc/self/none: cannot be written: ")));
  EXPECT_THAT(writing("/dev/null"), ThrowsMessage<FileError>(HasSubstr("is not a regular file")));
  write_file(path_, "old");
  EXPECT_THAT(writing(path_ / "x"), ThrowsMessage<FileError>(HasSubstr("part of the path is not a folder")));
  EXPECT_EQ(entries(), 1U);
}

/// While it lives, permissions bind this process even if root started it.
class OrdinaryUser {
 public:
  OrdinaryUser() { EXPECT_EQ(::seteuid(before_ == 0 ? 65534 : before_), 0); }
  ~OrdinaryUser() { EXPECT_EQ(::seteuid(before_), 0); }

 private:
  uid_t before_ = ::geteuid();
};

TEST_F(Files, KeepsTheOldFileWhereTheFolderForbidsWriting) {
  write_file(path_, "old");
  ASSERT_EQ(::chmod(path_.c_str(), 0666), 0);
  ASSERT_EQ(::chmod(folder_.c_str(), 0555), 0);
  {
    const OrdinaryUser user;
    EXPECT_THAT([&] { write_file(path_, "new"); }, ThrowsMessage<FileError>(HasSubstr("no permission")));
  }
  ASSERT_EQ(::chmod(folder_.c_str(), 0755), 0);
  EXPECT_EQ(read_file(path_, 100), "old");
}

TEST_F(Files, RespectsAFileThatIsReadOnly) {
  write_file(path_, "old");
  ASSERT_EQ(::chmod(path_.c_str(), 0444), 0);
  {
    const OrdinaryUser user;
    EXPECT_THAT([&] { write_file(path_, "new"); }, ThrowsMessage<FileError>(HasSubstr("no permission")));
  }
}

/// While it lives, no file grows beyond `bytes`.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &old_);
    const rlimit limit{bytes, old_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &old_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  sighandler_t handler_;
  rlimit old_{};
};

TEST_F(Files, KeepsTheOldFileWhereTheNewOneCannotGrow) {
  write_file(path_, "old");
  std::string message;
  {
    const FileSizeLimit limit(10000);
    try {
      write_file(path_, std::string(200000, 'x'));
    } catch (const FileError& error) {
      message = error.what();
    }
  }
  EXPECT_THAT(message, HasSubstr("out.txt: cannot be written: the file would be larger"));
  EXPECT_EQ(read_file(path_, 100), "old");
  EXPECT_EQ(entries(), 1U);
}

TEST_F(Files, KeepsTheOldFileOnAFullDisk) {
  if (::mount("tmpfs", folder_.c_str(), "tmpfs", 0, "size=65536") != 0) {
    GTEST_SKIP() << "no small disk can be mounted here: " << std::strerror(errno);
  }
  write_file(path_, "old");
  EXPECT_THAT([&] { write_file(path_, std::string(200000, 'x')); },
              ThrowsMessage<FileError>(HasSubstr("out.txt: cannot be written: the disk is full")));
  EXPECT_EQ(read_file(path_, 100), "old");
  EXPECT_EQ(entries(), 1U);
  ASSERT_EQ(::umount(folder_.c_str()), 0);
}

/// Sets an environment variable for a while; null unsets it.
class Environment {
 public:
  Environment(const char* name, const char* value) : name_(name) {
    if (const char* old = std::getenv(name)) old_ = old;
    value ? ::setenv(name, value, 1) : ::unsetenv(name);
  }
  ~Environment() { old_ ? ::setenv(name_, old_->c_str(), 1) : ::unsetenv(name_); }

 private:
  const char* name_;
  std::optional<std::string> old_;
};

TEST(Folders, FindTheCacheByTheUsualVariables) {
  const Environment home("HOME", "/home/somebody");
  {
    const Environment cache("XDG_CACHE_HOME", "/var/cache");
    EXPECT_EQ(cache_folder(), "/var/cache/headwright");
  }
  {
    const Environment cache("XDG_CACHE_HOME", "relative");
    EXPECT_EQ(cache_folder(), "/home/somebody/.cache/headwright");
  }
  const Environment cache("XDG_CACHE_HOME", nullptr), no_home("HOME", nullptr);
  EXPECT_EQ(cache_folder(), std::nullopt);
}

TEST(Folders, FindTheExecutable) { EXPECT_TRUE(fs::exists(executable_folder() / "unit_support")); }

}  // namespace
}  // namespace headwright::support

// A file is written whole or not at all.
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <cstring>

#include "unit/exporter/exported.h"

namespace headwright::exporter {
namespace {

using testing::HasSubstr;

class Whole : public Exports {
 protected:
  std::size_t entries() const {
    const std::filesystem::directory_iterator all(in(""));
    return static_cast<std::size_t>(std::distance(begin(all), end(all)));
  }
  std::string refusal(const std::string& file) {
    const auto plan = test::plan_of(kGpt);
    const auto model = model::build(plan);
    return test::message_of<FileError>([&] { write(*model, plan, format_for(file), in(file)); });
  }
};

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

TEST_F(Whole, TheOldFileStaysWhereTheNewOneCannotGrow) {
  for (const std::string file : {"model.pt", "model.safetensors"}) {
    file_with(file, "old");
    std::string message;
    {
      const FileSizeLimit limit(10'000);
      message = refusal(file);
    }
    EXPECT_THAT(message, HasSubstr(file + ": cannot be written: the file would be larger"));
    EXPECT_EQ(bytes_of(in(file)), "old");
  }
  EXPECT_EQ(entries(), 2U);
}

TEST_F(Whole, TheOldFileStaysOnAFullDisk) {
  if (::mount("tmpfs", in("").c_str(), "tmpfs", 0, "size=16384") != 0) {
    GTEST_SKIP() << "no small disk can be mounted here: " << std::strerror(errno);
  }
  for (const std::string file : {"model.pt", "model.safetensors"}) {
    file_with(file, "old");
    EXPECT_THAT(refusal(file), HasSubstr("the disk is full"));
    EXPECT_EQ(bytes_of(in(file)), "old");
  }
  EXPECT_EQ(entries(), 2U);
  ASSERT_EQ(::umount(in("").c_str()), 0);
}

TEST_F(Whole, AFolderThatIsNotThereIsNamed) {
  EXPECT_THAT(refusal("none/model.pt"), HasSubstr("none/model.pt: cannot be written: no such file or folder"));
  EXPECT_EQ(entries(), 0U);
}

TEST_F(Whole, AFolderWithoutPermissionKeepsTheOldFile) {
  file_with("model.pt", "old");
  ASSERT_EQ(::chmod(in("").c_str(), 0555), 0);
  const auto before = ::geteuid();
  ASSERT_EQ(::seteuid(before == 0 ? 65534 : before), 0);  // root may write anywhere
  const auto message = refusal("model.pt");
  ASSERT_EQ(::seteuid(before), 0);
  ASSERT_EQ(::chmod(in("").c_str(), 0755), 0);
  EXPECT_THAT(message, HasSubstr("no permission"));
  EXPECT_EQ(bytes_of(in("model.pt")), "old");
}

TEST_F(Whole, AnExportReplacesTheOldFileAndLeavesNothingElse) {
  file_with("model.pt", "old");
  const auto plan = test::plan_of(kGpt);
  write(*model::build(plan), plan, "torchscript", in("model.pt"));
  EXPECT_TRUE(inspect(in("model.pt")).valid);
  EXPECT_EQ(entries(), 1U);
}

}  // namespace
}  // namespace headwright::exporter

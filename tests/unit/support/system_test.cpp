// Processors and memory, within a container's limits.
#include "support/system.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <filesystem>

#include "support/cgroup.h"
#include "support/files.h"

namespace headwright::support {
namespace {

namespace fs = std::filesystem;

/// A folder that looks like the root of a system with control groups.
class Cgroup : public testing::Test {
 protected:
  ~Cgroup() override { fs::remove_all(root_); }

  void put(const std::string& path, const std::string& text) {
    fs::create_directories((root_ / path).parent_path());
    write_file(root_ / path, text);
  }

  const fs::path root_ = fs::temp_directory_path() / ("headwright_cgroup_" + std::to_string(::getpid()));
};

TEST_F(Cgroup, WithoutLimitsSaysNothing) {
  EXPECT_FALSE(cgroup_limits(root_).processors);
  put("proc/self/cgroup", "0::/\n");
  put("sys/fs/cgroup/cpu.max", "max 100000\n");
  put("sys/fs/cgroup/memory.max", "max\n");
  EXPECT_FALSE(cgroup_limits(root_).processors);
  EXPECT_FALSE(cgroup_limits(root_).memory_left);
}

TEST_F(Cgroup, Version2TakesTheTightestOnTheWayUp) {
  put("proc/self/cgroup", "0::/a/b\n");
  put("sys/fs/cgroup/a/cpu.max", "150000 100000\n");
  put("sys/fs/cgroup/a/b/cpu.max", "400000 100000\n");
  put("sys/fs/cgroup/a/b/memory.max", "1000\n");
  put("sys/fs/cgroup/a/b/memory.current", "700\n");
  put("sys/fs/cgroup/a/b/memory.stat", "anon 400\ninactive_file 300\n");
  put("sys/fs/cgroup/a/pids.max", "100\n");
  put("sys/fs/cgroup/a/pids.current", "70\n");
  put("sys/fs/cgroup/a/b/pids.max", "max\n");
  EXPECT_EQ(cgroup_limits(root_).processes_left, 30);
  EXPECT_EQ(cgroup_limits(root_).processors, 1.5);
  EXPECT_EQ(cgroup_limits(root_).memory_left, 600);
}

TEST_F(Cgroup, Version1ReadsItsOwnNames) {
  put("proc/self/cgroup", "6:pids:/docker/1\n5:memory:/docker/1\n4:cpu,cpuacct:/docker/1\n1:name=systemd:/\n");
  put("sys/fs/cgroup/cpu/docker/1/cpu.cfs_quota_us", "200000\n");
  put("sys/fs/cgroup/cpu/docker/1/cpu.cfs_period_us", "100000\n");
  put("sys/fs/cgroup/memory/docker/1/memory.limit_in_bytes", "5000\n");
  put("sys/fs/cgroup/memory/docker/1/memory.usage_in_bytes", "6000\n");
  EXPECT_EQ(cgroup_limits(root_).processors, 2.0);
  EXPECT_EQ(cgroup_limits(root_).memory_left, 0);  // never negative
  put("sys/fs/cgroup/pids/docker/1/pids.max", "5\n");
  put("sys/fs/cgroup/pids/docker/1/pids.current", "9\n");
  EXPECT_EQ(cgroup_limits(root_).processes_left, 0);
}

TEST_F(Cgroup, Version1WithoutQuotaSaysMinusOne) {
  put("proc/self/cgroup", "4:cpu,cpuacct:/\n");
  put("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
  put("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_FALSE(cgroup_limits(root_).processors);
}

// A container sees the host's name of its group in /proc, and its own limits at the mount.
TEST_F(Cgroup, FallsBackToTheMountWhereTheGroupIsNotVisible) {
  put("proc/self/cgroup", "0::/system.slice/docker-1.scope\n");
  put("sys/fs/cgroup/cpu.max", "300000 100000\n");
  EXPECT_EQ(cgroup_limits(root_).processors, 3.0);
}

TEST_F(Cgroup, SurvivesNonsense) {
  put("proc/self/cgroup", "\n:\n::\n0::/../..\nno colons\n");
  put("sys/fs/cgroup/cpu.max", "words 0\n");
  put("sys/fs/cgroup/memory.max", "99999999999999999999999999\n");
  EXPECT_FALSE(cgroup_limits(root_).processors);
  EXPECT_FALSE(cgroup_limits(root_).memory_left);
}

TEST(System, UsesNoMoreProcessorsThanItIsBoundTo) {
  cpu_set_t all, one;
  ASSERT_EQ(::sched_getaffinity(0, sizeof all, &all), 0);
  EXPECT_GE(usable_processors(), 1);
  EXPECT_LE(usable_processors(), CPU_COUNT(&all));
  CPU_ZERO(&one);
  for (int i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++i) {
    if (CPU_ISSET(i, &all)) CPU_SET(i, &one);
  }
  ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
  EXPECT_EQ(usable_processors(), 1);
  ASSERT_EQ(::sched_setaffinity(0, sizeof all, &all), 0);
}

TEST(System, HasMemoryLeftAndNotMoreThanThereIs) {
  EXPECT_GT(usable_memory(), 1 << 20);
  EXPECT_LE(usable_memory(), std::int64_t{::sysconf(_SC_PHYS_PAGES)} * ::sysconf(_SC_PAGESIZE));
}

std::int64_t page_faults() {
  // the tenth field of stat; the second is a name in parentheses
  const auto text = read_file("/proc/self/stat", 4096);
  std::size_t at = text.rfind(')') + 1;
  for (int field = 2; field < 9; ++field) at = text.find(' ', at + 1);
  return std::stoll(text.substr(at));
}

TEST(System, MakesALargeBlockAgainWithoutPageFaults) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "AddressSanitizer has an allocator of its own, which hands freed blocks back";
#endif
  keep_freed_memory();
  constexpr std::size_t kBytes = 256 << 20;
  const auto faults_of_a_block = [] {
    const auto before = page_faults();
    const std::vector<char> block(kBytes, 'x');
    EXPECT_EQ(block[kBytes / 2], 'x');
    return page_faults() - before;
  };
  faults_of_a_block();
  EXPECT_LT(faults_of_a_block(), 1000);  // 65,536 pages of 4 KiB; a mapping of its own would touch each anew
}

}  // namespace
}  // namespace headwright::support

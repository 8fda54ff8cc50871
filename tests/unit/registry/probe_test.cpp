// Libraries are tried in a child process, whatever they do to it.
#include "registry/probe.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <csignal>

#include <array>
#include <fstream>
#include <thread>

#include "unit/registry/registry_fixture.h"

namespace headwright::registry {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

class Probing : public RegistryTest {};

/// Processes that have `file` open as a library.
int users_of(const path& file) {
  int users = 0;
  for (const auto& process : fs::directory_iterator("/proc")) {
    std::ifstream maps(process.path() / "maps");
    const std::string text{std::istreambuf_iterator<char>(maps), {}};
    if (text.find(file.string()) != std::string::npos) ++users;
  }
  return users;
}

template <class Condition>
bool soon(Condition&& condition) {
  for (int i = 0; i < 600; ++i, std::this_thread::sleep_for(100ms)) {
    if (condition()) return true;
  }
  return false;
}

TEST_F(Probing, IsStartedAgainAfterAFileThatEndedIt) {
  Probe probe(probe_for_tests(), 60s);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(probe.try_file(fixtures("broken/kills_the_probe.so")).reason, "ended the probe that tried it");
    EXPECT_EQ(probe.try_file(fixtures("good/good_one.so")).reason, "");
  }
}

TEST_F(Probing, SaysWhatADyingLibrarySaid) {
  Probe probe(probe_for_tests(), 60s);
  // Whether a throwing static constructor can be caught depends on the optimisation level; its text is told either way.
  EXPECT_THAT(probe.try_file(fixtures("broken/throws_in_constructor.so")).reason,
              HasSubstr("no licence on this machine"));
}

TEST_F(Probing, LeavesNoProcessBehind) {
  const auto file = copy(fixtures("hanging/hangs_in_constructor.so"), "hangs.so");
  {
    Probe probe(probe_for_tests(), 2s);
    EXPECT_THAT(probe.try_file(file).reason, HasSubstr("hangs"));
    EXPECT_TRUE(soon([&] { return users_of(file) == 0; }));
    EXPECT_EQ(probe.try_file(fixtures("good/good_one.so")).reason, "");
  }
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "a child is left";
}

TEST_F(Probing, EndsWhatALibraryStarted) {
  const auto file = copy(fixtures("odd/starts_a_process.so"), "starts.so");
  {
    Probe probe(probe_for_tests(), 60s);
    EXPECT_EQ(probe.try_file(file).reason, "");
    EXPECT_EQ(users_of(file), 1);
  }
  EXPECT_TRUE(soon([&] { return users_of(file) == 0; }));
}

TEST_F(Probing, DiesWithItsParent) {
  const auto file = copy(fixtures("hanging/hangs_in_constructor.so"), "hangs.so");
  const auto program = probe_for_tests().string();
  const pid_t host = ::fork();
  if (host == 0) {
    ::execl(program.c_str(), program.c_str(), "run_all", file.c_str(), nullptr);
    ::_exit(127);
  }
  EXPECT_TRUE(soon([&] { return users_of(file) == 1; })) << "it never began to hang";
  ::kill(host, SIGKILL);
  ::waitpid(host, nullptr, 0);
  EXPECT_TRUE(soon([&] { return users_of(file) == 0; })) << "the hanging process lives on";
}

TEST_F(Probing, InheritsNoOpenFile) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);  // without close-on-exec, as a library might open one
  Probe probe(probe_for_tests(), 60s);
  probe.try_file(fixtures("good/good_one.so"));
  ::close(ends[1]);
  ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
  char byte = 0;
  EXPECT_EQ(::read(ends[0], &byte, 1), 0) << "somebody else still holds the pipe open";
  ::close(ends[0]);
}

TEST_F(Probing, PathsMayHoldAnything) {
  const auto file = copy(fixtures("good/good_one.so"), "new\nline \"quote\" \xff.so");
  Probe probe(probe_for_tests(), 60s);
  EXPECT_EQ(probe.try_file(file).reason, "");
  EXPECT_THAT(probe.try_file(in("gone\xff\n.so")).reason, HasSubstr("No such file"));
}

}  // namespace
}  // namespace headwright::registry

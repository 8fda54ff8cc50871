// The number of threads, and where it comes from.
#include "support/threads.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <map>

#include "support/system.h"

namespace headwright::support {
namespace {

using testing::HasSubstr;

constexpr std::array kVariables{"OMP_NUM_THREADS", "MKL_NUM_THREADS", "OMP_THREAD_LIMIT", "OMP_STACKSIZE"};

/// The environment of these tests is put back after each.
class Threads : public testing::Test {
 protected:
  Threads() {
    for (const auto* name : kVariables) {
      if (const char* value = std::getenv(name)) before_[name] = value;
      ::unsetenv(name);
    }
  }
  ~Threads() override {
    for (const auto* name : kVariables) ::unsetenv(name);
    for (const auto& [name, value] : before_) ::setenv(name.c_str(), value.c_str(), 1);
  }

  static void expect(std::int64_t count, const std::string& from) {
    EXPECT_EQ(usual_threads().count, count);
    EXPECT_EQ(usual_threads().from, from);
  }

 private:
  std::map<std::string, std::string> before_;
};

TEST_F(Threads, AreAsManyAsTheEnvironmentSays) {
  expect(usable_processors(), "one for each usable processor");
  ::setenv("MKL_NUM_THREADS", "3", 1);
  expect(3, "MKL_NUM_THREADS");
  for (const auto& [text, count] : std::map<std::string, int>{{"1", 1}, {" 2 ", 2}, {"5,2", 5}, {"64", 64}}) {
    ::setenv("OMP_NUM_THREADS", text.c_str(), 1);
    expect(count, "OMP_NUM_THREADS");
  }
  ::setenv("OMP_THREAD_LIMIT", "4", 1);
  expect(4, "OMP_THREAD_LIMIT");
}

TEST_F(Threads, WhatIsNoNumberCountsAsAbsent) {
  for (const auto* text : {"", "0", "-1", "two", "4x", "99999999999999999999"}) {
    ::setenv("OMP_NUM_THREADS", text, 1);
    expect(usable_processors(), "one for each usable processor");
  }
}

TEST_F(Threads, ThatTheSystemGivesAreNotRefused) {
  EXPECT_EQ(why_not_threads(1), "");
  EXPECT_EQ(why_not_threads(8), "");
}

TEST_F(Threads, ThatTheSystemCannotGiveAreRefusedWithWhatTheProcessMayHave) {
  EXPECT_THAT(why_not_threads(1'000'000'000), HasSubstr("this process may have "));
  ::setenv("OMP_STACKSIZE", "100G", 1);
  EXPECT_THAT(why_not_threads(4), HasSubstr("this process may have 1 (memory for stacks of 100.0 GiB)"));
}

}  // namespace
}  // namespace headwright::support

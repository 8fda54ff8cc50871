// Messages go to stderr, at the level that was asked for.
#include "support/log.h"

#include <gmock/gmock.h>

#include <cstdlib>

#include "headwright/errors.h"

namespace headwright::support::log {
namespace {

using testing::HasSubstr;

template <class Action>
std::string said(Action action) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  action();
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
  return testing::internal::GetCapturedStderr();
}

TEST(Log, WritesToStderrWithTheLevelInFront) {
  EXPECT_EQ(said([] {
              set_up("info", Color::never);
              debug("hidden");
              info("one");
              warn("two");
              error("three");
            }),
            "info: one\nwarning: two\nerror: three\n");
}

TEST(Log, LeavesBracesAlone) {
  EXPECT_EQ(said([] {
              set_up("info", Color::never);
              warn("attention: {mask: causal} {} {0:d}");
            }),
            "warning: attention: {mask: causal} {} {0:d}\n");
}

TEST(Log, KnowsEachOfItsLevels) {
  for (const auto& level : level_names()) EXPECT_NO_THROW(set_up(level, Color::never));
  EXPECT_EQ(said([] {
              set_up("off", Color::never);
              error("hidden");
            }),
            "");
  EXPECT_THAT([] { set_up("loud", Color::never); }, testing::ThrowsMessage<InputError>(HasSubstr("debug, info")));
}

TEST(Log, ColorsOnlyWhereAskedOrOnATerminal) {
  EXPECT_EQ(said([] {
              set_up("info", Color::automatic);  // captured, so it is no terminal
              warn("plain");
            }),
            "warning: plain\n");
  EXPECT_THAT(said([] {
                set_up("info", Color::always);
                warn("red");
              }),
              HasSubstr("\x1b["));
}

}  // namespace
}  // namespace headwright::support::log

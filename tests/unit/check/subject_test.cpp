// What the kit says of a difference.
#include "check/subject.h"

#include <gtest/gtest.h>

namespace headwright {
namespace {

TEST(CheckAmount, ShowsThreeDigitsHoweverSmall) {
  EXPECT_EQ(check::amount(0.119398), "0.119");
  EXPECT_EQ(check::amount(2.984e-9), "2.98e-09");
  EXPECT_EQ(check::amount(0), "0");
}

}  // namespace
}  // namespace headwright

// Score modifiers compute their formulas, and refuse wrong shapes.
#include "headwright/modifier.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "headwright/attend.h"

namespace headwright {
namespace {

double capped(double cap, double score) {
  return ScoreModifier::softcap(cap).apply(at::full({1, 1, 1, 1}, score, at::kDouble), {}).item<double>();
}

TEST(Softcap, SqueezesScoresByTanh) {
  EXPECT_NEAR(capped(50, 100), 48.201379, 1e-6);
  EXPECT_NEAR(capped(50, 1), .9998667, 1e-6);
  EXPECT_NEAR(capped(30, 30), 22.847825, 1e-6);
}

TEST(Softcap, RefusesACapThatIsNotAPositiveNumber) {
  for (const double cap :
       {0.0, -1.0, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    EXPECT_THROW(ScoreModifier::softcap(cap), Error) << cap;
  }
}

}  // namespace
}  // namespace headwright

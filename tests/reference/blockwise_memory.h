// What the blockwise kernel holds beyond inputs, outputs and gradients, at a length whose scores would be 8 GB.
#pragma once
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "headwright/attend.h"
#include "helpers/memory.h"

namespace headwright {

constexpr double kMostExtraBytes = 100e6;

/// Forward and backward at (1, 8, 16384, 64) float32.
inline void expect_small(Scoring scoring, const std::string& what) {
  constexpr std::int64_t kLength = 16384;
  const auto draw = [] { return at::randn({1, 8, kLength, 64}).requires_grad_(true); };
  const auto q = draw(), k = draw(), v = draw(), dy = at::randn({1, 8, kLength, 64});
  scoring.kernel = "blockwise";
  at::Tensor y;
  const double extra = test::peak_extra_bytes([&] {
    y = attend(q, k, v, scoring).y;
    y.backward(dy);
  });
  const double results = 4.0 * static_cast<double>(y.nbytes());  // y and three gradients
  EXPECT_LT(extra - results, kMostExtraBytes) << what;
  EXPECT_GT(extra, results * 0.5) << "the measure saw nothing";
  for (const auto& x : {q, k, v}) EXPECT_TRUE(x.grad().isfinite().all().item<bool>()) << what;
}

}  // namespace headwright

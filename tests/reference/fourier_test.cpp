// The Fourier layer against the sums that define it.
#include <numbers>

#include "reference/sequence_checks.h"

namespace {

using loops::Row;
using loops::Rows;

/// y_mc = Re sum_n sum_d x_nd exp(-2 pi i (m n / seq + c d / width))
Rows mixed(const torch::nn::Module&, const Rows& x, const std::vector<bool>&) {
  const auto seq = static_cast<double>(x.size()), width = static_cast<double>(x[0].size());
  Rows y(x.size(), Row(x[0].size(), 0.0));
  for (std::size_t m = 0; m < x.size(); ++m) {
    for (std::size_t c = 0; c < x[0].size(); ++c) {
      for (std::size_t n = 0; n < x.size(); ++n) {
        for (std::size_t d = 0; d < x[0].size(); ++d) {
          const auto turns = static_cast<double>(m * n) / seq + static_cast<double>(c * d) / width;
          y[m][c] += x[n][d] * std::cos(2 * std::numbers::pi * turns);
        }
      }
    }
  }
  return y;
}

loops::Subject fourier() {
  return {.variant = "fourier", .dims = {.d_model = 5}, .layer = mixed, .takes_key_mask = false};
}

TEST(Fourier, EqualsTheSumsAtOddLengths) { loops::expect_outputs_as_by_loops(fourier()); }

TEST(Fourier, HasTheGradientOfTheSums) { loops::expect_gradients_as_by_loops(fourier()); }

TEST(Fourier, EqualsTheSumsInEveryDtype) { loops::expect_every_dtype_as_by_loops(fourier()); }

TEST(Fourier, MakesNothingOfNothing) { loops::expect_nothing_from_nothing(fourier()); }

TEST(Fourier, ExportedEqualsRunning) { loops::expect_exported_as_running("attention/fourier.yaml"); }

TEST(Fourier, ClaimsNoMaskNoOrderAndLearnsNothing) {
  const auto claims = fourier().claims();
  EXPECT_FALSE(claims.key_mask || claims.causal || claims.cache);
  EXPECT_TRUE(fourier().make()->parameters().empty());
}

}  // namespace

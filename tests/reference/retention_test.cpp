// Retention against the sum of the paper, its rotation written as complex numbers.
#include <complex>

#include "reference/document_checks.h"

namespace {

using headwright::Dims;
using headwright::Value;
using loops::Row;
using loops::Rows;

/// Re sum_c q_c conj(k_c) exp(i angle_c distance): q and k as d_head / 2 complex numbers each, turned by their
/// positions.
double turned_product(const Row& q, const Row& k, double distance, double rope_theta) {
  std::complex<double> sum = 0;
  for (std::size_t c = 0; c < q.size(); c += 2) {
    const auto angle = std::pow(rope_theta, -static_cast<double>(c) / static_cast<double>(q.size()));
    const std::complex<double> a(q[c], q[c + 1]), b(k[c], k[c + 1]);
    sum += a * std::conj(b) * std::polar(1.0, angle * distance);
  }
  return sum.real();
}

/// One head: sum_{m <= n} gamma^(n - m) (q_n . k_m) v_m / sqrt(d_head)
Rows retained(const Rows& q, const Rows& k, const Rows& v, double gamma, double rope_theta,
              const std::vector<bool>& visible) {
  Rows r;
  for (std::size_t n = 0; n < q.size(); ++n) {
    r.emplace_back(v[0].size(), 0.0);
    for (std::size_t m = 0; m <= n; ++m) {
      if (!visible[m]) continue;
      const auto distance = static_cast<double>(n - m);
      const auto score = turned_product(q[n], k[m], distance, rope_theta) * std::pow(gamma, distance) /
                         std::sqrt(static_cast<double>(q[n].size()));
      for (std::size_t c = 0; c < v[m].size(); ++c) r[n][c] += score * v[m][c];
    }
  }
  return r;
}

/// Mean 0 and variance 1 over the channels of each token.
Rows normed(Rows rows, double eps) {
  for (auto& row : rows) {
    double mean = 0, square = 0;
    for (const auto value : row) mean += value / static_cast<double>(row.size());
    for (const auto value : row) square += (value - mean) * (value - mean) / static_cast<double>(row.size());
    for (auto& value : row) value = (value - mean) / std::sqrt(square + eps);
  }
  return rows;
}

loops::Layer retention(std::size_t n_heads, double rope_theta, double eps) {
  return [=](const torch::nn::Module& module, const Rows& x, const std::vector<bool>& visible) {
    const auto q = loops::linear(module, "q_proj", x), k = loops::linear(module, "k_proj", x);
    const auto v = loops::linear(module, "v_proj", x), gate = loops::linear(module, "gate_proj", x);
    const auto d_head = q[0].size() / n_heads, d_value = v[0].size() / n_heads;
    Rows merged;
    for (std::size_t h = 0; h < n_heads; ++h) {
      const auto gamma = 1 - std::pow(2.0, -5.0 - static_cast<double>(h));
      merged = loops::beside(
          merged, normed(retained(loops::columns(q, h * d_head, d_head), loops::columns(k, h * d_head, d_head),
                                  loops::columns(v, h * d_value, d_value), gamma, rope_theta, visible),
                         eps));
    }
    for (std::size_t n = 0; n < merged.size(); ++n) {
      for (std::size_t c = 0; c < merged[n].size(); ++c) merged[n][c] *= gate[n][c] / (1 + std::exp(-gate[n][c]));
    }
    return loops::linear(module, "out_proj", merged);
  };
}

const Dims kDims{.d_model = 6, .n_heads = 3, .n_kv_heads = 3, .d_head = 4};

loops::Subject plain() { return {.variant = "retention", .dims = kDims, .layer = retention(3, 10000, 1e-5)}; }

loops::Subject wide() {
  return {.variant = "retention",
          .dims = {.d_model = 5, .n_heads = 2, .n_kv_heads = 2, .d_head = 6},
          .params = {{"d_value", Value{std::int64_t{3}}}, {"rope_theta", Value{50.0}}, {"eps", Value{0.1}}},
          .layer = retention(2, 50, 0.1)};
}

TEST(Retention, EqualsTheSumOfThePaperAtOddLengths) {
  loops::expect_outputs_as_by_loops(plain());
  loops::expect_outputs_as_by_loops(wide());
}

TEST(Retention, HasTheGradientOfTheLoops) {
  // With the default eps the norm bends too sharply near 0 for differences of the loops to follow.
  auto smooth = plain();
  smooth.params = {{"eps", Value{0.1}}};
  smooth.layer = retention(3, 10000, 0.1);
  loops::expect_gradients_as_by_loops(smooth, {1, 17});
  loops::expect_gradients_as_by_loops(wide());
  loops::expect_slope_across_chunks_as_by_loops(wide());
}

TEST(Retention, EqualsTheSumInEveryDtype) { loops::expect_every_dtype_as_by_loops(wide()); }

TEST(Retention, TheRecurrentFormEqualsTheParallelOne) {
  loops::expect_pieces_as_the_whole(plain());
  loops::expect_pieces_as_the_whole(wide());
}

TEST(Retention, EachDocumentIsAsIfAlone) {
  loops::expect_documents_apart(wide());
  loops::expect_gradients_of_each_document_alone(wide());
}

TEST(Retention, KeepsItsDigitsOverLongFading) {
  // exp(-0.03 * 900) of the oldest tokens are left: the digits of the young ones must not suffer.
  const auto subject = plain();
  const auto module = subject.make();
  module->to(at::kFloat);
  auto x = subject.draw(900).to(at::kFloat);
  x.slice(1, 0, 700).mul_(1000);
  const at::NoGradGuard no_grad;
  const auto y = module->forward({.x = x});
  module->to(at::kDouble);
  EXPECT_LE(loops::difference(subject.reference({}), *module, x.to(at::kDouble), y.to(at::kDouble)), 1e-5);
}

TEST(Retention, MakesNothingOfNothing) { loops::expect_nothing_from_nothing(plain()); }

TEST(Retention, ExportedEqualsRunning) { loops::expect_exported_as_running("attention/retention.yaml"); }

TEST(Retention, ItsStateIsTheRecurrenceOfThePaper) {
  const auto module = plain().make();
  const at::NoGradGuard no_grad;
  const auto x = at::randn({1, 9, 6}, at::kDouble);
  auto cache = module->make_cache(1, 9);
  module->forward({.x = x, .cache = &cache});
  const auto k = loops::noted(*module, "k", x), v = loops::noted(*module, "v", x);  // (1, n_heads, seq, ...)
  const auto& state = cache.at("state");
  ASSERT_EQ(state.sizes(), (std::vector<std::int64_t>{1, 3, 4, 4}));
  for (int h = 0; h < 3; ++h) {
    for (int a = 0; a < 4; ++a) {
      for (int b = 0; b < 4; ++b) {
        double s = 0;
        for (int n = 0; n < 9; ++n) {
          s = (1 - std::pow(2.0, -5 - h)) * s + k[0][h][n][a].item<double>() * v[0][h][n][b].item<double>();
        }
        EXPECT_NEAR(state[0][h][a][b].item<double>(), s, 1e-12);
      }
    }
  }
}

TEST(Retention, ItsWeightsTimesTheValuesAreItsHeads) {
  const auto module = wide().make();
  const auto x = wide().draw(70), mask = wide().masks(70)[1];
  const auto weights = loops::noted(*module, "weights", x, mask), v = loops::noted(*module, "v", x, mask);
  EXPECT_EQ(weights.sizes(), (std::vector<std::int64_t>{3, 2, 70, 70}));
  EXPECT_TRUE(weights.matmul(v).allclose(loops::noted(*module, "heads", x, mask), 0, 1e-12));
}

TEST(Retention, SeesDistancesAndNotPlaces) {
  const auto module = plain().make();
  const auto x = plain().draw(7);
  const auto y = module->forward({.x = x});
  const auto later = at::arange(100, 107);
  EXPECT_TRUE(module->forward({.x = x, .positions = later}).allclose(y, 0, 1e-12));
  EXPECT_TRUE(module->forward({.x = x, .positions = later.expand({3, 7})}).allclose(y, 0, 1e-12));
  EXPECT_FALSE(module->forward({.x = x, .positions = later * 2}).allclose(y, 0, 1e-3));
}

TEST(Retention, NamesTheSizesThatItCannotTake) {
  using Texts = std::vector<std::string>;
  const auto issues = [](const Dims& dims) { return headwright::test::issues("retention", dims); };
  EXPECT_EQ(issues({.d_model = 6, .n_heads = 2, .n_kv_heads = 2, .d_head = 3}),
            Texts{"d_head: got 3, expected an even number: channels turn in pairs"});
  EXPECT_EQ(issues({.d_model = 8, .n_heads = 2, .n_kv_heads = 1, .d_head = 4}),
            Texts{"n_kv_heads: got 1, expected n_heads = 2: each head of retention has keys of its own"});
  EXPECT_TRUE(issues(kDims).empty());
}

TEST(Retention, RefusesAMaskThatForgetsTheTokensInTheCache) {
  const auto module = plain().make();
  auto cache = module->make_cache(3, 9);
  const auto x = plain().draw(3);
  module->forward({.x = x, .cache = &cache});
  EXPECT_THROW(module->forward({.x = x, .key_mask = at::ones({3, 3}, at::kBool), .cache = &cache}),
               headwright::ShapeError);
}

}  // namespace

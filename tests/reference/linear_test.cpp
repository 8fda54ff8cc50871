// Linear attention against its sums, and against the recurrence that conventions give for it.
#include "reference/document_checks.h"

namespace {

using headwright::Dims;
using headwright::Value;
using loops::Row;
using loops::Rows;

/// elu(x) + 1
Row phi(Row row) {
  for (auto& value : row) value = value > 0 ? value + 1 : std::exp(value);
  return row;
}

double product(const Row& a, const Row& b) {
  double sum = 0;
  for (std::size_t c = 0; c < a.size(); ++c) sum += a[c] * b[c];
  return sum;
}

/// One head: sum_j phi(q_i) . phi(k_j) v_j / (sum_j phi(q_i) . phi(k_j) + eps) over the visible j.
Rows by_sums(const Rows& q, const Rows& k, const Rows& v, const std::function<bool(std::size_t, std::size_t)>& sees,
             double eps) {
  Rows y;
  for (std::size_t i = 0; i < q.size(); ++i) {
    y.emplace_back(v[0].size(), 0.0);
    double normaliser = eps;
    for (std::size_t j = 0; j < k.size(); ++j) {
      if (!sees(i, j)) continue;
      const auto weight = product(phi(q[i]), phi(k[j]));
      normaliser += weight;
      for (std::size_t c = 0; c < v[j].size(); ++c) y[i][c] += weight * v[j][c];
    }
    for (auto& value : y[i]) value /= normaliser;
  }
  return y;
}

/// One head, causal: S += phi(k) v^T, z += phi(k), y = phi(q) S / (phi(q) . z + eps).
Rows by_recurrence(const Rows& q, const Rows& k, const Rows& v, const std::vector<bool>& visible, double eps) {
  Rows s(k[0].size(), Row(v[0].size(), 0.0)), y;
  Row z(k[0].size(), 0.0);
  for (std::size_t t = 0; t < q.size(); ++t) {
    const auto key = phi(k[t]), query = phi(q[t]);
    for (std::size_t a = 0; visible[t] && a < z.size(); ++a) {
      z[a] += key[a];
      for (std::size_t c = 0; c < v[t].size(); ++c) s[a][c] += key[a] * v[t][c];
    }
    y.emplace_back(v[0].size(), 0.0);
    for (std::size_t a = 0; a < z.size(); ++a) {
      for (std::size_t c = 0; c < s[a].size(); ++c) y[t][c] += query[a] * s[a][c] / (product(query, z) + eps);
    }
  }
  return y;
}

using Head = std::function<Rows(const Rows& q, const Rows& k, const Rows& v, const std::vector<bool>& visible)>;

loops::Layer linear(const Dims& dims, const Head& head) {
  return [=](const torch::nn::Module& module, const Rows& x, const std::vector<bool>& visible) {
    const auto q = loops::linear(module, "q_proj", x), k = loops::linear(module, "k_proj", x);
    const auto v = loops::linear(module, "v_proj", x);
    const auto n_heads = static_cast<std::size_t>(dims.n_heads), d_head = q[0].size() / n_heads;
    const auto group = n_heads / static_cast<std::size_t>(dims.n_kv_heads);
    Rows merged;
    for (std::size_t h = 0; h < n_heads; ++h) {
      const auto of = [&](const Rows& rows, std::size_t index) { return loops::columns(rows, index * d_head, d_head); };
      merged = loops::beside(merged, head(of(q, h), of(k, h / group), of(v, h / group), visible));
    }
    return loops::linear(module, "out_proj", merged);
  };
}

Head sums(bool causal, double eps) {
  return [=](const Rows& q, const Rows& k, const Rows& v, const std::vector<bool>& visible) {
    return by_sums(q, k, v, [&](std::size_t i, std::size_t j) { return visible[j] && (!causal || j <= i); }, eps);
  };
}

const Dims kDims{.d_model = 6, .n_heads = 4, .n_kv_heads = 2, .d_head = 3};
constexpr double kEps = 1e-6;

loops::Subject causal_form() { return {.variant = "linear", .dims = kDims, .layer = linear(kDims, sums(true, kEps))}; }

loops::Subject full_form() {
  return {
      .variant = "linear",
      .dims = kDims,
      .params = {{"causal", Value{false}}, {"eps", Value{0.5}}, {"qkv_bias", Value{true}}, {"out_bias", Value{false}}},
      .layer = linear(kDims, sums(false, 0.5))};
}

TEST(Linear, EqualsItsSumsAtOddLengthsWithGroupedHeads) {
  loops::expect_outputs_as_by_loops(causal_form());
  loops::expect_outputs_as_by_loops(full_form());
}

TEST(Linear, EqualsTheRecurrenceOnItsState) {
  auto recurrent = causal_form();
  recurrent.layer = linear(kDims, [](const Rows& q, const Rows& k, const Rows& v, const std::vector<bool>& visible) {
    return by_recurrence(q, k, v, visible, kEps);
  });
  loops::expect_outputs_as_by_loops(recurrent);
}

TEST(Linear, HasTheGradientOfTheLoops) {
  loops::expect_gradients_as_by_loops(causal_form());
  loops::expect_gradients_as_by_loops(full_form());
  loops::expect_slope_across_chunks_as_by_loops(causal_form());
}

TEST(Linear, EqualsItsSumsInEveryDtype) {
  loops::expect_every_dtype_as_by_loops(causal_form());
  loops::expect_every_dtype_as_by_loops(full_form());
}

TEST(Linear, TheRecurrentFormEqualsTheParallelOne) { loops::expect_pieces_as_the_whole(causal_form()); }

TEST(Linear, EachDocumentIsAsIfAlone) {
  for (const auto& subject : {causal_form(), full_form()}) {
    loops::expect_documents_apart(subject);
    loops::expect_gradients_of_each_document_alone(subject);
  }
}

TEST(Linear, MakesNothingOfNothing) {
  loops::expect_nothing_from_nothing(causal_form());
  loops::expect_nothing_from_nothing(full_form());
}

TEST(Linear, ExportedEqualsRunning) { loops::expect_exported_as_running("attention/linear.yaml"); }

TEST(Linear, ItsCacheHoldsTheStateAndTheNormaliser) {
  const auto module = causal_form().make();
  const at::NoGradGuard no_grad;
  const auto x = at::randn({1, 70, 6}, at::kDouble);
  auto cache = module->make_cache(1, 70);
  module->forward({.x = x, .cache = &cache});
  const auto keys = loops::noted(*module, "k", x)[0], values = loops::noted(*module, "v", x)[0];
  ASSERT_EQ(cache.at("state").sizes(), (std::vector<std::int64_t>{1, 2, 3, 3}));
  ASSERT_EQ(cache.at("normaliser").sizes(), (std::vector<std::int64_t>{1, 2, 3}));
  for (int h = 0; h < 2; ++h) {
    const auto k = loops::rows_of(keys[h]), v = loops::rows_of(values[h]);
    const auto s = loops::rows_of(cache.at("state")[0][h]);
    const auto z = loops::rows_of(cache.at("normaliser")[0][h])[0];
    for (std::size_t a = 0; a < 3; ++a) {
      double normaliser = 0;
      for (std::size_t t = 0; t < 70; ++t) normaliser += phi(k[t])[a];
      EXPECT_NEAR(z[a], normaliser, 1e-11);
      for (std::size_t c = 0; c < 3; ++c) {
        double state = 0;
        for (std::size_t t = 0; t < 70; ++t) state += phi(k[t])[a] * v[t][c];
        EXPECT_NEAR(s[a][c], state, 1e-11);
      }
    }
  }
}

TEST(Linear, ItsWeightsTimesTheValuesAreItsHeads) {
  for (const auto& subject : {causal_form(), full_form()}) {
    const auto module = subject.make();
    const auto x = subject.draw(70), mask = subject.masks(70)[1];
    const auto weights = loops::noted(*module, "weights", x, mask);
    EXPECT_EQ(weights.sizes(), (std::vector<std::int64_t>{3, 4, 70, 70}));
    const auto v = loops::noted(*module, "v", x, mask).repeat_interleave(2, 1);  // (batch, n_heads, seq, d_head)
    EXPECT_TRUE(weights.matmul(v).allclose(loops::noted(*module, "heads", x, mask), 0, 1e-12));
  }
}

TEST(Linear, KeepsTheDigitsOfSmallFeatures) {
  // elu(-40) + 1 is 0 in float64; exp(-40) is not, and its share of the only visible key is nearly all.
  const Dims dims{.d_model = 1};
  const auto module = headwright::test::make<headwright::Attention>(
      "linear", dims, {{"eps", Value{1e-60}}, {"out_bias", Value{false}}});
  module->to(at::kDouble);
  const at::NoGradGuard no_grad;
  for (auto& parameter : module->parameters()) parameter.fill_(1);
  const auto x = at::full({1, 1, 1}, -40, at::kDouble);
  EXPECT_NEAR(module->forward({.x = x}).item<double>(), -40, 1e-9);
}

TEST(Linear, HasACacheInItsCausalFormAlone) {
  EXPECT_TRUE(causal_form().claims().causal && causal_form().claims().cache);
  EXPECT_FALSE(full_form().claims().causal || full_form().claims().cache);
  const auto module = full_form().make();
  EXPECT_THROW(module->make_cache(1, 4), headwright::Error);
  auto cache = causal_form().make()->make_cache(3, 4);
  EXPECT_THROW(module->forward({.x = full_form().draw(4), .cache = &cache}), headwright::InputError);
}

TEST(Linear, RefusesAMaskThatForgetsTheTokensInTheCache) {
  const auto module = causal_form().make();
  auto cache = module->make_cache(3, 9);
  const auto x = causal_form().draw(3);
  module->forward({.x = x, .cache = &cache});
  EXPECT_THROW(module->forward({.x = x, .key_mask = at::ones({3, 3}, at::kBool), .cache = &cache}),
               headwright::ShapeError);
}

}  // namespace

// Reformer's attention as loops over doubles: which tokens a hash lets a token see, and a softmax over those.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "headwright/attention.h"
#include "helpers/components.h"
#include "helpers/variants.h"
#include "reference/against_loops.h"

namespace headwright {
namespace {

using loops::Row;
using loops::Rows;

struct Case {
  std::int64_t n_rounds = 2, n_buckets = 4, chunk_size = 3;
  bool causal = false;
  Dims dims{.d_model = 8, .n_heads = 2, .n_kv_heads = 2, .d_head = 4};

  ParamMap params() const {
    return {{"n_rounds", {n_rounds}}, {"n_buckets", {n_buckets}}, {"chunk_size", {chunk_size}}, {"causal", {causal}}};
  }
};

/// The place of a token in a round: its bucket, and which chunk of the bucket's tokens.
using Place = std::pair<std::int64_t, std::int64_t>;

/// The largest of the products with each direction and its opposite; hidden tokens have a bucket of their own.
/// directions: of one head and round, [channel][direction]
std::vector<std::int64_t> buckets(const Rows& x, const at::Tensor& directions, const std::vector<bool>& shown) {
  const auto r = loops::rows_of(directions);
  std::vector<std::int64_t> found;
  for (std::size_t i = 0; i < x.size(); ++i) {
    Row along(r[0].size(), 0.0);
    for (std::size_t c = 0; c < r.size(); ++c) {
      for (std::size_t d = 0; d < along.size(); ++d) along[d] += x[i][c] * r[c][d];
    }
    auto all = along;
    for (const auto value : along) all.push_back(-value);
    found.push_back(shown[i] ? std::ranges::max_element(all) - all.begin() : -1);
  }
  return found;
}

std::vector<Place> places(const std::vector<std::int64_t>& buckets, std::int64_t chunk_size) {
  std::map<std::int64_t, std::int64_t> met;  // tokens of each bucket so far
  std::vector<Place> found;
  for (const auto bucket : buckets) found.emplace_back(bucket, met[bucket]++ / chunk_size);
  return found;
}

/// given: buckets (n_heads, n_rounds, seq); undefined = found here.
Rows lsh(const Case& it, const torch::nn::Module& module, const Rows& x, const std::vector<bool>& shown,
         const at::Tensor& given = {}) {
  const auto n = static_cast<std::size_t>(it.dims.n_heads), width = static_cast<std::size_t>(it.dims.d_head);
  const auto qk = loops::linear(module, "qk_proj", x), v = loops::linear(module, "v_proj", x);
  const auto directions = module.named_buffers()["directions"].to(at::kDouble);
  Rows heads;
  for (std::size_t h = 0; h < n; ++h) {
    const auto q = loops::columns(qk, h * width, width), values = loops::columns(v, h * width, width);
    std::vector<std::set<std::size_t>> sees(x.size());
    for (std::int64_t round = 0; round < it.n_rounds; ++round) {
      const auto head = static_cast<std::int64_t>(h);
      std::vector<std::int64_t> bucket;
      if (!given.defined()) {
        bucket = buckets(q, directions[head][round], shown);
      } else {
        for (std::size_t i = 0; i < x.size(); ++i) {
          bucket.push_back(given[head][round][static_cast<std::int64_t>(i)].item<std::int64_t>());
        }
      }
      const auto place = places(bucket, it.chunk_size);
      for (std::size_t i = 0; i < x.size(); ++i) {
        for (std::size_t j = 0; j < x.size(); ++j) {
          const auto before = place[i].second - place[j].second;
          const bool near = place[i].first == place[j].first && (before == 0 || before == 1);
          if (near && shown[j] && i != j && (!it.causal || j < i)) sees[i].insert(j);
        }
      }
    }
    Rows y;
    for (std::size_t i = 0; i < x.size(); ++i) {
      Row sum(width, 0.0);
      double total = 0;
      for (const auto j : sees[i]) {
        double product = 0, length = 1e-12;  // as the layer adds it, for a key of zeros
        for (std::size_t c = 0; c < width; ++c) {
          product += q[i][c] * q[j][c];
          length += q[j][c] * q[j][c];
        }
        const double weight = std::exp(product / std::sqrt(length) / std::sqrt(static_cast<double>(width)));
        total += weight;
        for (std::size_t c = 0; c < width; ++c) sum[c] += weight * values[j][c];
      }
      for (auto& value : sum) value = total > 0 ? value / total : 0;
      y.push_back(sees[i].empty() && shown[i] ? values[i] : sum);
    }
    heads = loops::beside(heads, y);
  }
  return loops::linear(module, "out_proj", heads);
}

std::shared_ptr<Attention> make(const Case& it) {
  at::manual_seed(11);
  auto layer = test::make<Attention>("lsh", it.dims, it.params());
  layer->to(at::kDouble);
  layer->eval();
  return layer;
}

std::vector<bool> row_of(const at::Tensor& mask, std::int64_t row, std::size_t seq) {
  std::vector<bool> shown(seq, true);
  for (std::size_t j = 0; mask.defined() && j < seq; ++j)
    shown[j] = mask[row][static_cast<std::int64_t>(j)].item<bool>();
  return shown;
}

void expect_loops(const Case& it, std::int64_t seq, const at::Tensor& key_mask, bool gradients) {
  const auto layer = make(it);
  const loops::Reference reference = [&](const torch::nn::Module& module, const Rows& x, std::int64_t row) {
    return lsh(it, module, x, row_of(key_mask, row, x.size()));
  };
  const auto x = at::randn({2, seq, it.dims.d_model}, at::kDouble);
  const auto forward = [&](const at::Tensor& given) { return layer->forward({.x = given, .key_mask = key_mask}); };
  if (gradients) loops::expect_agreement(reference, *layer, x, forward);
  else loops::expect_outputs(reference, *layer, x, forward(x));
}

/// Every third key hidden in the first row, all in the second.
at::Tensor holes(std::int64_t keys) {
  const auto some = at::arange(keys).remainder(3).ne(1);
  return at::stack({some, at::zeros_like(some)});
}

TEST(Lsh, EachDocumentIsAsIfAlone) {
  for (const bool causal : {false, true}) {
    for (const std::int64_t seq : {1, 2, 17, 40}) {
      const Case it{.causal = causal};
      const auto layer = make(it);
      const auto x = at::randn({2, seq, it.dims.d_model}, at::kDouble), mask = holes(seq);
      const auto token = at::arange(seq);
      const auto ids = at::stack({token.ge(seq / 2).to(at::kLong), token.floor_divide(7) * -2});
      for (const auto& key_mask : {at::Tensor(), mask}) {
        const loops::Reference reference = [&](const torch::nn::Module& module, const Rows& rows, std::int64_t row) {
          const auto shown = row_of(key_mask, row, rows.size());
          const auto id = [&](std::size_t t) { return ids[row][static_cast<std::int64_t>(t)].item<std::int64_t>(); };
          Rows all;
          for (std::size_t begin = 0, end = 0; begin < rows.size(); begin = end) {
            for (end = begin; end < rows.size() && id(end) == id(begin);) ++end;
            const auto from = std::ptrdiff_t(begin), to = std::ptrdiff_t(end);
            const auto part = lsh(it, module, Rows(rows.begin() + from, rows.begin() + to),
                                  std::vector<bool>(shown.begin() + from, shown.begin() + to));
            all.insert(all.end(), part.begin(), part.end());
          }
          return all;
        };
        SCOPED_TRACE(std::to_string(seq) + (causal ? " causal" : "") + (key_mask.defined() ? " masked" : ""));
        loops::expect_outputs(reference, *layer, x,
                              layer->forward({.x = x, .key_mask = key_mask, .document_ids = ids}));
      }
    }
  }
}

TEST(Lsh, EqualsLoopsInOutputsAndGradients) {
  for (const bool causal : {false, true}) {
    for (const std::int64_t seq : {1, 2, 17}) {
      SCOPED_TRACE(std::to_string(seq) + (causal ? " causal" : ""));
      const Case it{.causal = causal};
      expect_loops(it, seq, {}, true);
      expect_loops(it, seq, holes(seq), true);
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST(Lsh, EqualsLoopsAtOddLengthsRoundsAndSizes) {
  for (const std::int64_t seq : {63, 130}) {
    for (const bool causal : {false, true}) {
      expect_loops({.causal = causal}, seq, holes(seq), false);
      expect_loops({.n_rounds = 1, .n_buckets = 2, .chunk_size = 16, .causal = causal}, seq, {}, false);
      expect_loops({.n_rounds = 4, .n_buckets = 16, .chunk_size = 1, .causal = causal}, seq, holes(seq), false);
    }
  }
}

/// One bucket wide enough for all: what is left is softmax attention with shared queries and keys, without itself.
TEST(Lsh, SeesAllWhereAChunkHoldsAll) {
  const Case it{.n_rounds = 40, .n_buckets = 2, .chunk_size = 32};
  const auto layer = make(it);
  Recorder recorder;
  recorder.want("weights");
  recorder.want("buckets");
  const at::NoGradGuard no_grad;
  layer->forward({.x = at::randn({1, 9, 8}, at::kDouble), .recorder = &recorder});
  ASSERT_EQ(recorder.notes().size(), 2U);
  const auto& weights = recorder.notes()[1].value;  // (batch, n_heads, seq, seq)
  EXPECT_EQ(weights.sizes(), at::IntArrayRef({1, 2, 9, 9}));
  EXPECT_TRUE(weights.sum(-1).allclose(at::ones({1, 2, 9}, at::kDouble)));
  EXPECT_TRUE(weights.diagonal(0, 2, 3).eq(0).all().item<bool>());
  EXPECT_GE(weights.gt(0).sum().item<std::int64_t>(), 2 * 9 * 8 * 9 / 10);  // 40 rounds find nearly every pair
}

TEST(Lsh, DependsOnItsSeedAlone) {
  const auto directions = [](std::int64_t seed, std::uint64_t global) {
    at::manual_seed(global);
    return test::make<Attention>("lsh", test::small_dims(), {{"seed", {seed}}})->named_buffers()["directions"];
  };
  EXPECT_TRUE(at::equal(directions(1, 5), directions(1, 6)));
  EXPECT_FALSE(at::equal(directions(1, 5), directions(2, 5)));
}

TEST(Lsh, IsCloseInFloat32) {
  const Case it{.causal = true};
  const auto layer = make(it);
  const auto x = at::randn({1, 17, 8});
  layer->to(at::kFloat);
  const auto y = layer->forward({.x = x});
  layer->to(at::kDouble);
  const auto expected = lsh(it, *layer, loops::rows_of(x[0].to(at::kDouble)), std::vector<bool>(17, true));
  const auto got = loops::rows_of(y[0].to(at::kDouble));
  for (std::size_t i = 0; i < got.size(); ++i) {
    for (std::size_t c = 0; c < got[i].size(); ++c) EXPECT_NEAR(got[i][c], expected[i][c], 1e-5);
  }
}

/// A rounded query may fall on the other side of a boundary, so the loops take the buckets that the layer found.
TEST(Lsh, EqualsLoopsInHalfTypesWithinItsOwnBuckets) {
  const at::NoGradGuard no_grad;
  for (const auto& [dtype, tolerance] : {std::pair{at::kHalf, 2e-3}, {at::kBFloat16, 1.6e-2}}) {
    for (const std::int64_t seq : {17, 63}) {
      for (const bool causal : {false, true}) {
        SCOPED_TRACE(testing::Message() << toString(dtype) << ", " << seq << (causal ? " causal" : ""));
        const Case it{.causal = causal};
        const auto layer = make(it);
        layer->to(dtype);
        const auto x = at::randn({2, seq, 8}).to(dtype), mask = holes(seq);
        Recorder recorder;
        recorder.want("buckets");
        const auto y = layer->forward({.x = x, .key_mask = mask, .recorder = &recorder});
        EXPECT_EQ(y.scalar_type(), dtype);
        layer->to(at::kDouble);  // the rounded parameters
        for (std::int64_t row = 0; row < 2; ++row) {
          const auto shown = row_of(mask, row, static_cast<std::size_t>(seq));
          const auto expected =
              lsh(it, *layer, loops::rows_of(x[row].to(at::kDouble)), shown, recorder.notes().at(0).value[row]);
          const auto got = loops::rows_of(y[row].to(at::kDouble));
          double largest = 0, error = 0;
          for (std::size_t i = 0; i < got.size(); ++i) {
            for (std::size_t c = 0; c < got[i].size(); ++c) {
              largest = std::max(largest, std::abs(expected[i][c]));
              error = std::max(error, std::abs(got[i][c] - expected[i][c]));
            }
          }
          EXPECT_LE(error, tolerance * largest) << "row " << row;
        }
      }
    }
  }
}

/// So that to take the layer's own buckets hides no mistake in them.
TEST(Lsh, RoundingMovesFewTokensToAnotherBucket) {
  const at::NoGradGuard no_grad;
  const Case it{.n_rounds = 4};
  const auto x = at::randn({1, 130, 8}).to(at::kBFloat16);
  const auto found = [&](at::ScalarType dtype) {
    const auto layer = make(it);
    layer->to(at::kBFloat16);  // the same rounded parameters
    layer->to(dtype);
    Recorder recorder;
    recorder.want("buckets");
    layer->forward({.x = x.to(dtype), .recorder = &recorder});
    return recorder.notes().at(0).value;  // (1, n_heads, n_rounds, seq)
  };
  EXPECT_LE(found(at::kBFloat16).ne(found(at::kDouble)).to(at::kDouble).mean().item<double>(), 0.02);
}

TEST(Lsh, RefusesWhatDoesNotFit) {
  auto dims = test::small_dims();
  dims.n_kv_heads = 1;
  EXPECT_EQ(test::issues("lsh", dims, {{"n_buckets", {std::int64_t{3}}}}),
            (std::vector<std::string>{"n_buckets: got 3, expected an even number: each direction has an opposite",
                                      "n_kv_heads: lsh has as many as n_heads, since its queries are its keys"}));
}

}  // namespace
}  // namespace headwright

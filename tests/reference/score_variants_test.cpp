// Variants with scores of their own, written as loops from their papers: additive (Bahdanau), multiplicative (Luong)
// and talking heads.
#include <gtest/gtest.h>

#include <algorithm>

#include "headwright/attention.h"
#include "helpers/components.h"
#include "helpers/variants.h"
#include "reference/layer_loops.h"

namespace headwright {
namespace {

using loops::Row;
using loops::Rows;

constexpr std::int64_t kModel = 8, kHeads = 4, kMemory = 6;

struct Case {
  std::string name;
  ParamMap params;
  Dims dims{.d_model = kModel, .n_heads = kHeads, .n_kv_heads = kHeads, .d_head = 2};
};

/// What a query sees, by token numbers.
using Sees = std::function<bool(std::size_t i, std::size_t j)>;

/// Scores of one head: [query][key].
using Scores = std::vector<Row>;

Row softmax(const Row& scores, const std::function<bool(std::size_t)>& seen) {
  Row weights(scores.size(), 0.0);
  double largest = -1e300, sum = 0;
  for (std::size_t j = 0; j < scores.size(); ++j) {
    if (seen(j)) largest = std::max(largest, scores[j]);
  }
  for (std::size_t j = 0; j < scores.size(); ++j) {
    if (seen(j)) sum += weights[j] = std::exp(scores[j] - largest);
  }
  for (auto& weight : weights) weight = sum > 0 ? weight / sum : 0;
  return weights;
}

Rows weighted(const Scores& weights, const Rows& v) {
  Rows y;
  for (const auto& row : weights) {
    Row sum(v[0].size(), 0.0);
    for (std::size_t j = 0; j < v.size(); ++j) {
      for (std::size_t c = 0; c < sum.size(); ++c) sum[c] += row[j] * v[j][c];
    }
    y.push_back(sum);
  }
  return y;
}

/// Head h of n of x.
Rows head(const Rows& x, std::size_t h, std::size_t n) {
  const auto width = x[0].size() / n;
  return loops::columns(x, h * width, width);
}

double dot(const Row& a, const Row& b) {
  double sum = 0;
  for (std::size_t c = 0; c < a.size(); ++c) sum += a[c] * b[c];
  return sum;
}

Rows additive(const Case& it, const torch::nn::Module& module, const Rows& x, const Rows& source, const Sees& sees) {
  const auto n = static_cast<std::size_t>(it.dims.n_heads), n_kv = static_cast<std::size_t>(it.dims.n_kv_heads);
  const auto q = loops::linear(module, "q_proj", x), k = loops::linear(module, "k_proj", source),
             v = loops::linear(module, "v_proj", source), w = loops::parameter(module, "score_weight");
  Rows heads;
  for (std::size_t h = 0; h < n; ++h) {
    const auto qh = head(q, h, n), kh = head(k, h / (n / n_kv), n_kv), vh = head(v, h / (n / n_kv), n_kv);
    Scores weights;
    for (std::size_t i = 0; i < x.size(); ++i) {
      Row scores;
      for (const auto& key : kh) {
        double score = 0;
        for (std::size_t c = 0; c < key.size(); ++c) score += w[h][c] * std::tanh(qh[i][c] + key[c]);
        scores.push_back(score);
      }
      weights.push_back(softmax(scores, [&](std::size_t j) { return sees(i, j); }));
    }
    heads = loops::beside(heads, weighted(weights, vh));
  }
  return loops::linear(module, "out_proj", heads);
}

Rows multiplicative(const Case& it, const torch::nn::Module& module, const Rows& x, const Rows& source,
                    const Sees& sees) {
  const auto n = static_cast<std::size_t>(it.dims.n_heads);
  const bool general = module.named_parameters().contains("score.weight");
  const auto q = general ? loops::linear(module, "score", x) : x;
  Rows y;
  for (std::size_t h = 0; h < n; ++h) {
    const auto qh = head(q, h, n), states = head(source, h, n);
    Scores weights;
    for (std::size_t i = 0; i < x.size(); ++i) {
      Row scores;
      for (const auto& state : states) scores.push_back(dot(qh[i], state));
      weights.push_back(softmax(scores, [&](std::size_t j) { return sees(i, j); }));
    }
    y = loops::beside(y, weighted(weights, states));
  }
  if (!module.named_parameters().contains("combine.weight")) return y;
  auto combined = loops::linear(module, "combine", loops::beside(y, x));
  for (auto& row : combined) {
    for (auto& value : row) value = std::tanh(value);
  }
  return combined;
}

Rows talking_heads(const Case& it, const torch::nn::Module& module, const Rows& x, const Rows& source,
                   const Sees& sees) {
  const auto n = static_cast<std::size_t>(it.dims.n_heads), n_kv = static_cast<std::size_t>(it.dims.n_kv_heads);
  const auto q = loops::linear(module, "q_proj", x), k = loops::linear(module, "k_proj", source),
             v = loops::linear(module, "v_proj", source);
  const auto before = loops::parameter(module, "logits_mix"), after = loops::parameter(module, "weights_mix");
  std::vector<Scores> products, weights;  // of each head: before the softmax, after it
  for (std::size_t f = 0; f < n; ++f) {
    const auto qf = head(q, f, n), kf = head(k, f / (n / n_kv), n_kv);
    auto& of_head = products.emplace_back(x.size(), Row(source.size(), 0.0));
    for (std::size_t i = 0; i < x.size(); ++i) {
      for (std::size_t j = 0; j < source.size(); ++j) {
        of_head[i][j] = dot(qf[i], kf[j]) / std::sqrt(static_cast<double>(it.dims.d_head));
      }
    }
  }
  for (std::size_t h = 0; h < n; ++h) {
    auto& of_head = weights.emplace_back();
    for (std::size_t i = 0; i < x.size(); ++i) {
      Row logits(source.size(), 0.0);
      for (std::size_t j = 0; j < source.size(); ++j) {
        for (std::size_t f = 0; f < n; ++f) logits[j] += before[f][h] * products[f][i][j];
      }
      of_head.push_back(softmax(logits, [&](std::size_t j) { return sees(i, j); }));
    }
  }
  Rows heads;
  for (std::size_t g = 0; g < n; ++g) {
    Scores mixed(x.size(), Row(source.size(), 0.0));
    for (std::size_t i = 0; i < x.size(); ++i) {
      for (std::size_t j = 0; j < source.size(); ++j) {
        for (std::size_t h = 0; h < n; ++h) mixed[i][j] += after[h][g] * weights[h][i][j];
      }
    }
    heads = loops::beside(heads, weighted(mixed, head(v, g / (n / n_kv), n_kv)));
  }
  return loops::linear(module, "out_proj", heads);
}

using Loop = Rows (*)(const Case&, const torch::nn::Module&, const Rows&, const Rows&, const Sees&);
const std::map<std::string, Loop> kLoops{
    {"additive", additive}, {"multiplicative", multiplicative}, {"talking_heads", talking_heads}};

std::shared_ptr<Attention> make(const Case& it) {
  at::manual_seed(5);
  auto layer = test::make<Attention>(it.name, it.dims, it.params);
  const at::NoGradGuard no_grad;
  for (const auto& parameter : layer->parameters()) parameter.add_(at::randn_like(parameter), 0.3);
  layer->to(at::kDouble);
  layer->eval();
  return layer;
}

/// Keys that are hidden: every third one in the first row, all in the second.
at::Tensor holes(std::int64_t keys) {
  const auto some = at::arange(keys).remainder(3).ne(1);
  return at::stack({some, at::zeros_like(some)});
}

bool shown(const at::Tensor& mask, std::int64_t row, std::size_t j) {
  return !mask.defined() || mask.const_data_ptr<bool>()[row * mask.size(1) + static_cast<std::int64_t>(j)];
}

bool everything(std::size_t, std::size_t) { return true; }
bool causal(std::size_t i, std::size_t j) { return j <= i; }
bool window(std::size_t i, std::size_t j) { return j <= i && i < j + 3; }

struct Masked {
  std::string name;
  Mask mask;
  bool (*sees)(std::size_t, std::size_t);
};
const std::vector<Masked> kMasks{
    {"none", Mask(), everything}, {"causal", Mask::causal(), causal}, {"window", Mask::window(3), window}};

/// Self-attention over x with a mask of its own and a key mask.
void expect_self(const Case& it, bool (*sees)(std::size_t, std::size_t), std::int64_t seq, const at::Tensor& key_mask,
                 bool gradients) {
  const auto layer = make(it);
  const loops::Reference reference = [&](const torch::nn::Module& module, const Rows& x, std::int64_t row) {
    return kLoops.at(it.name)(it, module, x, x,
                              [&](std::size_t i, std::size_t j) { return sees(i, j) && shown(key_mask, row, j); });
  };
  const auto x = at::randn({2, seq, kModel}, at::kDouble);
  const auto forward = [&](const at::Tensor& given) { return layer->forward({.x = given, .key_mask = key_mask}); };
  if (gradients) loops::expect_agreement(reference, *layer, x, forward);
  else loops::expect_outputs(reference, *layer, x, forward(x));
}

std::vector<Case> self_cases(const Mask& mask) {
  const auto with_mask = [&](ParamMap params) {
    params.emplace_back("mask", Value{mask});
    return params;
  };
  std::vector<Case> cases{
      {"additive", with_mask({})},
      {"additive", with_mask({{"qkv_bias", {true}}, {"out_bias", {false}}})},
      {"multiplicative", with_mask({})},
      {"multiplicative", with_mask({{"score", {std::string("dot")}}})},
      {"multiplicative", with_mask({{"attentional", {true}}})},
      {"talking_heads", with_mask({})},
      {"talking_heads", with_mask({{"qkv_bias", {true}}})},
  };
  cases[1].dims.n_kv_heads = 2;
  cases[3].dims.n_heads = cases[3].dims.n_kv_heads = 1;
  cases[3].dims.d_head = kModel;
  cases[6].dims.n_kv_heads = 2;
  return cases;
}

TEST(ScoreVariants, EqualLoopsInOutputsAndGradients) {
  for (const auto& [name, mask, sees] : kMasks) {
    for (const auto& it : self_cases(mask)) {
      for (const std::int64_t seq : {1, 2, 5}) {
        SCOPED_TRACE(it.name + " " + name + " " + std::to_string(seq));
        expect_self(it, sees, seq, seq == 2 ? at::Tensor() : holes(seq), true);
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

TEST(ScoreVariants, EqualLoopsAtOddLengths) {
  for (const auto& [name, mask, sees] : kMasks) {
    for (const auto& it : self_cases(mask)) {
      for (const std::int64_t seq : {17, 63, 130}) {
        if (seq > 17 && it.dims.n_kv_heads == 2) continue;  // one form of each is enough
        SCOPED_TRACE(it.name + " " + name + " " + std::to_string(seq));
        expect_self(it, sees, seq, holes(seq), false);
      }
    }
  }
}

TEST(ScoreVariants, EqualLoopsOverAMemory) {
  for (const std::string variant : {"additive", "multiplicative", "talking_heads"}) {
    Case it{variant, {{"cross", {true}}}};
    it.dims.d_memory = kMemory;
    if (variant == "multiplicative") {
      it.dims.n_heads = it.dims.n_kv_heads = 2;
      it.dims.d_head = 4;
    }
    SCOPED_TRACE(variant);
    const auto layer = make(it);
    const auto x = at::randn({2, 7, kModel}, at::kDouble), memory = at::randn({2, 4, kMemory}, at::kDouble);
    const auto mask = holes(4);
    const auto sees = [&](std::int64_t row) {
      return [&mask, row](std::size_t, std::size_t j) { return shown(mask, row, j); };
    };
    loops::expect_agreement(
        [&](const torch::nn::Module& module, const Rows& rows, std::int64_t row) {
          return kLoops.at(variant)(it, module, rows, loops::rows_of(memory[row]), sees(row));
        },
        *layer, x,
        [&](const at::Tensor& given) { return layer->forward({.x = given, .memory = memory, .memory_mask = mask}); });
    loops::expect_agreement(
        [&](const torch::nn::Module& module, const Rows& rows, std::int64_t row) {
          return kLoops.at(variant)(it, module, loops::rows_of(x[row]), rows, sees(row));
        },
        *layer, memory,
        [&](const at::Tensor& given) { return layer->forward({.x = x, .memory = given, .memory_mask = mask}); });
  }
}

/// The same loops for the checks that all layers share.
loops::Subject subject(const Case& it) {
  return {it.name, it.dims, it.params, [it](const torch::nn::Module& module, const Rows& x, const loops::Keys& keys) {
            return kLoops.at(it.name)(it, module, x, keys.source, keys.sees);
          }};
}

TEST(ScoreVariants, WorkWithEveryMask) {
  for (const auto& it : self_cases(Mask::causal())) {
    SCOPED_TRACE(it.name);
    loops::expect_masks(subject(it));
  }
}

TEST(ScoreVariants, ReadAMemoryWithEveryMask) {
  for (const auto& it : self_cases(Mask::causal())) {
    if (it.dims.n_heads == 1) continue;  // multiplicative with dot, which takes no memory of another width
    SCOPED_TRACE(it.name);
    loops::expect_memory(subject(it));
  }
}

TEST(ScoreVariants, HaveTheirSlopesPastTheSizeOfATile) {
  for (const auto& it : self_cases(Mask::causal())) {
    SCOPED_TRACE(it.name);
    loops::expect_past_a_tile(subject(it));
  }
}

TEST(ScoreVariants, EqualLoopsWithEveryKernel) {
  for (const auto& kernel : kernel_names()) {
    if (kernel == "sdpa") continue;  // it knows no other scores
    for (auto it : self_cases(Mask::causal())) {
      if (it.name == "multiplicative") continue;
      SCOPED_TRACE(it.name + " " + kernel);
      it.dims.kernel = kernel;
      EXPECT_EQ(make(it)->kernel().effective, kernel);
      expect_self(it, causal, 5, holes(5), true);
    }
  }
}

TEST(ScoreVariants, StayCloseInOtherDtypes) {
  for (const auto& [dtype, tolerance] : {std::pair{at::kFloat, 1e-5}, {at::kHalf, 2e-3}, {at::kBFloat16, 1.6e-2}}) {
    for (const auto& it : self_cases(Mask::causal())) {
      SCOPED_TRACE(it.name + " " + toString(dtype));
      const auto layer = make(it);
      layer->to(dtype);
      const auto x = at::randn({1, 17, kModel}).to(dtype);
      const auto y = layer->forward({.x = x});
      EXPECT_EQ(y.scalar_type(), dtype);
      layer->to(at::kDouble);  // the weights as they were rounded
      const auto expected = kLoops.at(it.name)(it, *layer, loops::rows_of(x[0].to(at::kDouble)),
                                               loops::rows_of(x[0].to(at::kDouble)), causal);
      double largest = 0, error = 0;
      const auto got = loops::rows_of(y[0].to(at::kDouble));
      for (std::size_t i = 0; i < got.size(); ++i) {
        for (std::size_t c = 0; c < got[i].size(); ++c) {
          largest = std::max(largest, std::abs(expected[i][c]));
          error = std::max(error, std::abs(got[i][c] - expected[i][c]));
        }
      }
      EXPECT_LE(error, tolerance * largest);
    }
  }
}

TEST(ScoreVariants, NoteTheirWeights) {
  for (const auto& it : self_cases(Mask::causal())) {
    SCOPED_TRACE(it.name);
    const auto layer = make(it);
    Recorder recorder;
    recorder.want("weights");
    layer->forward({.x = at::randn({2, 9, kModel}, at::kDouble), .recorder = &recorder});
    ASSERT_EQ(recorder.notes().size(), 1U);
    const auto& weights = recorder.notes()[0].value;
    EXPECT_EQ(weights.sizes(), at::IntArrayRef({2, it.dims.n_heads, 9, 9}));
    EXPECT_TRUE(weights.triu(1).eq(0).all().item<bool>());
    if (it.name != "talking_heads") {  // whose second mix gives other sums
      EXPECT_TRUE(weights.sum(-1).allclose(at::ones({2, it.dims.n_heads, 9}, at::kDouble)));
    }
  }
}

TEST(ScoreVariants, ContinueASequenceFromTheirCache) {
  for (const auto& it : self_cases(Mask::causal())) {
    if (it.name == "multiplicative") continue;  // claims none
    SCOPED_TRACE(it.name);
    const auto layer = make(it);
    const auto x = at::randn({2, 6, kModel}, at::kDouble);
    const auto whole = layer->forward({.x = x});
    auto cache = layer->make_cache(2, 6);
    for (const auto& [begin, end] : {std::pair{0, 3}, {3, 4}, {4, 6}}) {
      const auto part = layer->forward({.x = x.slice(1, begin, end), .cache = &cache});
      EXPECT_TRUE(part.allclose(whole.slice(1, begin, end), 0, 1e-12)) << begin;
    }
  }
}

TEST(ScoreVariants, RefuseWhatDoesNotFit) {
  Dims dims{.d_model = 8, .n_heads = 2, .n_kv_heads = 1, .d_head = 4, .d_memory = 6};
  EXPECT_EQ(test::issues("multiplicative", dims, {{"cross", {true}}, {"score", {std::string("dot")}}}),
            (std::vector<std::string>{
                "score: got dot, which needs a memory as wide as d_model = 8, not d_memory = 6; general takes both",
                "n_kv_heads: multiplicative has as many as n_heads"}));
  dims = {.d_model = 8, .n_heads = 2, .n_kv_heads = 2, .d_head = 4};
  for (const auto* name : {"additive", "multiplicative", "talking_heads"}) {
    EXPECT_EQ(test::issues(name, dims, {{"cross", {true}}, {"mask", {Mask::document()}}}),
              std::vector<std::string>{"mask: got document, but a memory has no document ids"});
  }
}

}  // namespace
}  // namespace headwright

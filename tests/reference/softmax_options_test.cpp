// The softmax layer with its options, masks and a memory, against loops over doubles.
#include <gtest/gtest.h>

#include <cmath>

#include "reference/qkv_layer.h"

namespace {

using headwright::Mask;
using headwright::ParamMap;
using headwright::ScoreModifier;
using headwright::Value;
using loops::Row;
using loops::Rows;

constexpr std::size_t kHead = 4;
const headwright::Dims kDims{.d_model = 6, .n_heads = 4, .n_kv_heads = 2, .d_head = kHead};

/// What a head's scores of visible keys become.
using Weights = std::function<Row(const torch::nn::Module& module, std::size_t head, const Row& scores)>;

/// exp(s) / (exp(extra) + sum exp(s))
Row with_one_more(const Row& scores, double extra) {
  double total = std::exp(extra);
  Row weights;
  for (const double score : scores) weights.push_back(std::exp(score));
  for (const double weight : weights) total += weight;
  for (auto& weight : weights) weight /= total;
  return weights;
}

loops::Subject subject(const Weights& weights, const ParamMap& more = {}, double cap = 0) {
  ParamMap params{{"mask", Value{Mask::causal()}}};
  params.insert(params.end(), more.begin(), more.end());
  const loops::Head head = [=](const torch::nn::Module& module, std::size_t h, const Rows& q, const Rows& k,
                               const Rows& v, const loops::Keys& keys) {
    const auto score = [&](std::size_t i, std::size_t j) {
      const double product = 0.5 * loops::dot(q[i], k[j]);  // 1 / sqrt(d_head)
      return cap > 0 ? cap * std::tanh(product / cap) : product;
    };
    return loops::mixed(q.size(), v, keys.sees, score, [&](const Row& scores) { return weights(module, h, scores); });
  };
  return {"softmax", kDims, params, loops::qkv_layer(4, 2, kHead, head)};
}

Row plain(const torch::nn::Module&, std::size_t, const Row& scores) { return loops::softmax(scores); }

Row learned_sink(const torch::nn::Module& module, std::size_t head, const Row& scores) {
  return with_one_more(scores, loops::parameter(module, "sink")[0][head]);
}

Row softmax_one(const torch::nn::Module&, std::size_t, const Row& scores) { return with_one_more(scores, 0); }

struct Option {
  std::string name;
  loops::Subject subject;
};

std::vector<Option> options() {
  return {{"plain", subject(plain, {{"qkv_bias", Value{true}}, {"out_bias", Value{false}}})},
          {"sink", subject(learned_sink, {{"sink", Value{true}}})},
          {"softmax_one", subject(softmax_one, {{"normaliser", loops::text("softmax_one")}})},
          {"softcap", subject(plain, {{"modifiers", Value{std::vector{ScoreModifier::softcap(0.4)}}}}, 0.4)}};
}

class SoftmaxOptions : public testing::TestWithParam<std::string> {
 protected:
  static loops::Subject option() {
    for (const auto& [name, found] : options()) {
      if (name == GetParam()) return found;
    }
    throw headwright::Error("no option is called " + GetParam());
  }
};

TEST_P(SoftmaxOptions, EqualTheFormula) { loops::expect_all(option()); }

TEST_P(SoftmaxOptions, WorkWithEveryMask) { loops::expect_masks(option()); }

TEST_P(SoftmaxOptions, ReadAMemory) { loops::expect_memory(option()); }

TEST_P(SoftmaxOptions, HaveTheFormulasSlopesPastTheSizeOfATile) { loops::expect_past_a_tile(option()); }

TEST_P(SoftmaxOptions, WithACacheEqualTheWholeSequence) { loops::expect_cached(option()); }

INSTANTIATE_TEST_SUITE_P(Each, SoftmaxOptions, testing::Values("plain", "sink", "softmax_one", "softcap"),
                         [](const testing::TestParamInfo<std::string>& it) { return it.param; });

}  // namespace

// The gated delta rule as it stands in the paper, one token after the other, its state as a matrix of values by keys.
#include "reference/document_checks.h"

namespace {

using headwright::Dims;
using headwright::Value;
using loops::Row;
using loops::Rows;

double sigmoid(double a) { return 1 / (1 + std::exp(-a)); }

struct Sizes {
  std::size_t n_heads, d_head, d_value, conv_size;
  double eps;
};

/// silu(sum_j filter_cj x_{t - conv_size + 1 + j, c}); hidden tokens count as zero.
Rows convolved(const torch::nn::Module& module, const Rows& x, const std::vector<bool>& visible, const Sizes& sizes) {
  const auto filter = sizes.conv_size == 0
                          ? Rows(x[0].size(), Row{1})
                          : loops::rows_of(module.named_parameters()["conv.weight"].squeeze(1));  // [channel][tap]
  const auto taps = filter[0].size();
  Rows y(x.size(), Row(x[0].size(), 0.0));
  for (std::size_t t = 0; t < x.size(); ++t) {
    for (std::size_t c = 0; c < y[t].size(); ++c) {
      for (std::size_t back = 0; back < taps && back <= t; ++back) {
        if (visible[t - back]) y[t][c] += filter[c][taps - 1 - back] * x[t - back][c];
      }
      y[t][c] *= sigmoid(y[t][c]);
    }
  }
  return y;
}

Row of_length_1(Row row, double eps) {
  double square = eps;
  for (const auto value : row) square += value * value;
  for (auto& value : row) value /= std::sqrt(square);
  return row;
}

/// S <- alpha S (I - beta k k^T) + beta v k^T, S: [value][key]
void update(Rows& s, const Row& k, const Row& v, double alpha, double beta) {
  for (std::size_t a = 0; a < s.size(); ++a) {
    double recalled = 0;
    for (std::size_t c = 0; c < k.size(); ++c) recalled += s[a][c] * k[c];
    for (std::size_t c = 0; c < k.size(); ++c) {
      s[a][c] = alpha * (s[a][c] - beta * recalled * k[c]) + beta * v[a] * k[c];
    }
  }
}

struct Gates {
  std::vector<double> alpha, beta;  // of each token
};

Gates gates(const torch::nn::Module& module, const Rows& x, std::size_t h) {
  const auto a = loops::linear(module, "a_proj", x), b = loops::linear(module, "b_proj", x);
  const auto rate = std::exp(loops::parameter(module, "A_log")[0][h]);
  const auto bias = loops::parameter(module, "dt_bias")[0][h];
  Gates found;
  for (std::size_t t = 0; t < x.size(); ++t) {
    found.alpha.push_back(std::exp(-rate * std::log1p(std::exp(a[t][h] + bias))));
    found.beta.push_back(sigmoid(b[t][h]));
  }
  return found;
}

/// rms_norm(S q / sqrt(d_head)) of one head. final_state: where the state behind the last token goes, or null.
Rows head(const torch::nn::Module& module, const Rows& x, const Rows& qkv, std::size_t h, const Sizes& sizes,
          const std::vector<bool>& visible, Rows* final_state = nullptr) {
  const auto q = loops::columns(qkv, h * sizes.d_head, sizes.d_head);
  const auto k = loops::columns(qkv, (sizes.n_heads + h) * sizes.d_head, sizes.d_head);
  const auto v = loops::columns(qkv, 2 * sizes.n_heads * sizes.d_head + h * sizes.d_value, sizes.d_value);
  const auto [alpha, beta] = gates(module, x, h);
  const auto scale = loops::parameter(module, "out_norm")[0];
  Rows s(sizes.d_value, Row(sizes.d_head, 0.0)), y;
  for (std::size_t t = 0; t < x.size(); ++t) {
    if (visible[t]) update(s, of_length_1(k[t], sizes.eps), v[t], alpha[t], beta[t]);
    const auto query = of_length_1(q[t], sizes.eps);
    Row o(sizes.d_value, 0.0);
    double square = 0;
    for (std::size_t a = 0; a < o.size(); ++a) {
      for (std::size_t c = 0; c < query.size(); ++c) o[a] += s[a][c] * query[c];
      o[a] /= std::sqrt(static_cast<double>(sizes.d_head));
      square += o[a] * o[a] / static_cast<double>(o.size());
    }
    for (std::size_t a = 0; a < o.size(); ++a) o[a] *= scale[a] / std::sqrt(square + sizes.eps);
    y.push_back(o);
  }
  if (final_state != nullptr) *final_state = s;
  return y;
}

Rows mixed_channels(const torch::nn::Module& module, const Rows& x, const std::vector<bool>& visible,
                    const Sizes& sizes) {
  const auto q = loops::linear(module, "q_proj", x), k = loops::linear(module, "k_proj", x);
  return convolved(module, loops::beside(loops::beside(q, k), loops::linear(module, "v_proj", x)), visible, sizes);
}

loops::Layer gated_delta(const Sizes& sizes) {
  return [=](const torch::nn::Module& module, const Rows& x, const std::vector<bool>& visible) {
    const auto qkv = mixed_channels(module, x, visible, sizes);
    Rows merged;
    for (std::size_t h = 0; h < sizes.n_heads; ++h) {
      merged = loops::beside(merged, head(module, x, qkv, h, sizes, visible));
    }
    const auto gate = loops::linear(module, "g_proj", x);
    for (std::size_t t = 0; t < x.size(); ++t) {
      for (std::size_t c = 0; c < gate[t].size(); ++c) merged[t][c] *= gate[t][c] * sigmoid(gate[t][c]);
    }
    return loops::linear(module, "out_proj", merged);
  };
}

const Dims kDims{.d_model = 6, .n_heads = 2, .n_kv_heads = 2, .d_head = 3};
constexpr Sizes kSizes{.n_heads = 2, .d_head = 3, .d_value = 3, .conv_size = 4, .eps = 1e-6};

loops::Subject plain() { return {.variant = "gated_delta", .dims = kDims, .layer = gated_delta(kSizes)}; }

loops::Subject other(std::int64_t conv_size) {
  return {.variant = "gated_delta",
          .dims = {.d_model = 4, .n_heads = 2, .n_kv_heads = 2, .d_head = 2},
          .params = {{"d_value", Value{std::int64_t{3}}}, {"conv_size", Value{conv_size}}, {"eps", Value{0.1}}},
          .layer = gated_delta({2, 2, 3, static_cast<std::size_t>(conv_size), 0.1})};
}

TEST(GatedDelta, EqualsTheRuleOfThePaperAtOddLengths) {
  loops::expect_outputs_as_by_loops(plain());
  for (const std::int64_t conv_size : {0, 1, 2}) loops::expect_outputs_as_by_loops(other(conv_size));
}

TEST(GatedDelta, HasTheGradientOfTheLoops) {
  loops::expect_gradients_as_by_loops(other(2));
  loops::expect_gradients_as_by_loops(other(0), {2});
  loops::expect_slope_across_chunks_as_by_loops(other(4));
}

TEST(GatedDelta, EqualsTheRuleInEveryDtype) { loops::expect_every_dtype_as_by_loops(other(4)); }

TEST(GatedDelta, TheRecurrentFormEqualsTheOneInChunks) {
  loops::expect_pieces_as_the_whole(plain());
  for (const std::int64_t conv_size : {0, 3}) loops::expect_pieces_as_the_whole(other(conv_size));
}

TEST(GatedDelta, EachDocumentIsAsIfAlone) {
  loops::expect_documents_apart(plain());
  for (const std::int64_t conv_size : {0, 1, 2, 4}) loops::expect_documents_apart(other(conv_size));
  loops::expect_gradients_of_each_document_alone(other(2));
}

/// Channel 0 of x is what the gates of all heads get beside dt_bias, and nothing else.
std::shared_ptr<headwright::Attention> gated_by_channel_0(at::ScalarType dtype) {
  const auto module = plain().make();
  const at::NoGradGuard no_grad;
  for (auto& named : module->named_parameters()) {
    const auto& name = named.key();
    if (name.ends_with("_proj.weight") && name != "out_proj.weight") named.value().select(1, 0).zero_();
    if (name == "a_proj.weight") named.value().zero_().select(1, 0).fill_(1);
  }
  module->to(dtype);
  return module;
}

TEST(GatedDelta, KeepsItsDigitsBehindTokensThatForget) {
  const at::NoGradGuard no_grad;
  const auto gates_of = [](auto set) {
    auto gate = at::full({130}, -6.0, at::kDouble);
    set(gate);
    return gate;
  };
  const std::vector<at::Tensor> all{gates_of([](at::Tensor& gate) { gate.slice(0, 0, 48).fill_(30); }),
                                    gates_of([](at::Tensor& gate) { gate.slice(0, 0, 48, 2).fill_(30); }),
                                    gates_of([](at::Tensor& gate) { gate.fill_(30); }),
                                    gates_of([](at::Tensor& gate) { gate[7].fill_(10000); }),
                                    gates_of([](at::Tensor& gate) { gate[64].fill_(1e30); })};
  for (const auto& gate : all) {
    const auto module = gated_by_channel_0(at::kFloat);
    const auto script = loops::written(*module);
    auto x = plain().draw(130).to(at::kFloat);
    x.select(-1, 0).copy_(gate);
    const auto y = module->forward({.x = x});
    const auto exported = torch::jit::Module(script).forward({x}).toTensor();
    module->to(at::kDouble);  // the rounded parameters
    for (const auto& found : {y, exported}) {
      EXPECT_LE(loops::difference(plain().reference({}), *module, x.to(at::kDouble), found.to(at::kDouble)), 1e-5)
          << gate.max().item<double>();
    }
  }
}

TEST(GatedDelta, ExportedComputesInTheTypeItIsCastTo) {
  const at::NoGradGuard no_grad;
  const auto module = plain().make();
  module->to(at::kFloat);
  auto script = loops::written(*module);
  script.to(at::kDouble);
  const auto x = plain().draw(17), ids = loops::packed(17);
  const auto y = script.forward({x, c10::IValue(), ids}).toTensor();
  module->to(at::kDouble);
  EXPECT_LE(loops::difference(loops::each_alone(plain(), {}, ids), *module, x, y), 1e-12);
}

TEST(GatedDelta, MakesNothingOfNothing) { loops::expect_nothing_from_nothing(plain()); }

TEST(GatedDelta, ExportedEqualsRunning) { loops::expect_exported_as_running("attention/gated_delta.yaml"); }

TEST(GatedDelta, KeysThatComeAgainAreOverwrittenAndNotAddedUp) {
  // With beta = alpha = 1 and one key all along, the memory holds the last value alone.
  const auto module = headwright::test::make<headwright::Attention>(
      "gated_delta", {.d_model = 1, .d_head = 1}, {{"conv_size", Value{std::int64_t{0}}}, {"eps", Value{1e-12}}});
  module->to(at::kDouble);
  const at::NoGradGuard no_grad;
  for (auto& named : module->named_parameters()) named.value().fill_(1);
  module->named_parameters()["A_log"].fill_(-100);
  module->named_parameters()["b_proj.weight"].fill_(100);
  const auto x = at::rand({1, 100, 1}, at::kDouble) + 1;
  auto cache = module->make_cache(1, 100);
  module->forward({.x = x, .cache = &cache});
  const auto last = x[0][99].item<double>();
  EXPECT_NEAR(cache.at("state").item<double>(), last * sigmoid(last), 1e-9);
}

TEST(GatedDelta, AHiddenTokenLeavesTheStateAsItIs) {
  const auto module = plain().make();
  const at::NoGradGuard no_grad;
  const auto x = at::randn({1, 70, 6}, at::kDouble);
  auto visible = at::ones({1, 70}, at::kBool);
  visible.slice(1, 66).fill_(false);
  auto cache = module->make_cache(1, 70), shorter = module->make_cache(1, 66);
  module->forward({.x = x, .key_mask = visible, .cache = &cache});
  module->forward({.x = x.slice(1, 0, 66), .cache = &shorter});
  EXPECT_TRUE(cache.at("state").allclose(shorter.at("state"), 0, 1e-14));

  Rows state;
  const auto rows = loops::rows_of(x[0]);
  std::vector<bool> seen(70);
  for (std::size_t t = 0; t < 66; ++t) seen[t] = true;
  head(*module, rows, mixed_channels(*module, rows, seen, kSizes), 1, kSizes, seen, &state);
  for (int a = 0; a < 3; ++a) {
    for (int c = 0; c < 3; ++c) {
      EXPECT_NEAR(cache.at("state")[0][1][c][a].item<double>(), state[std::size_t(a)][std::size_t(c)], 1e-12);
    }
  }
}

TEST(GatedDelta, ItsWeightsTimesTheValuesAreItsHeads) {
  const auto module = plain().make();
  const auto x = plain().draw(70), mask = plain().masks(70)[1];
  const auto weights = loops::noted(*module, "weights", x, mask), v = loops::noted(*module, "v", x, mask);
  EXPECT_EQ(weights.sizes(), (std::vector<std::int64_t>{3, 2, 70, 70}));
  EXPECT_TRUE(weights.matmul(v).allclose(loops::noted(*module, "heads", x, mask), 0, 1e-12));
}

TEST(GatedDelta, StartsWithTheRatesAndStepsOfMamba) {
  const auto module = headwright::test::make<headwright::Attention>(
      "gated_delta", {.d_model = 64, .n_heads = 64, .n_kv_heads = 64, .d_head = 1});
  const auto parameters = module->named_parameters();
  const auto rates = parameters["A_log"].exp(), steps = at::softplus(parameters["dt_bias"]);
  EXPECT_GE(rates.min().item<double>(), 1);
  EXPECT_LE(rates.max().item<double>(), 16.001);
  EXPECT_GE(steps.min().item<double>(), 0.000999);
  EXPECT_LE(steps.max().item<double>(), 0.1001);
  EXPECT_GT(rates.std().item<double>(), 2);
  EXPECT_GT(steps.log().std().item<double>(), 0.5);
}

TEST(GatedDelta, NamesTheSizesThatItCannotTake) {
  EXPECT_EQ(headwright::test::issues("gated_delta", {.d_model = 8, .n_heads = 2, .n_kv_heads = 1, .d_head = 4}),
            std::vector<std::string>{
                "n_kv_heads: got 1, expected n_heads = 2: each head of gated_delta has keys of its own"});
  EXPECT_TRUE(headwright::test::issues("gated_delta", kDims).empty());
}

TEST(GatedDelta, RefusesAMaskThatForgetsTheTokensInTheCache) {
  const auto module = plain().make();
  auto cache = module->make_cache(3, 9);
  const auto x = plain().draw(3);
  module->forward({.x = x, .cache = &cache});
  EXPECT_THROW(module->forward({.x = x, .key_mask = at::ones({3, 3}, at::kBool), .cache = &cache}),
               headwright::ShapeError);
}

}  // namespace

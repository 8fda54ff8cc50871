// A stack composed from YAML against the same modules written by hand, with the same weights, in one process, in turns.
// Usage: bench_stack CONFIG BATCH SEQ ROUNDS. Prints one JSON object.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <torch/nn/module.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/normalization.h>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <nlohmann/json.hpp>

#include "model/build.h"
#include "run/forward.h"
#include "run/session.h"

namespace {

// Names as in the composed tree, so that weights are copied by name.
struct HandAttention : torch::nn::Module {
  HandAttention(std::int64_t d_model, std::int64_t n_heads) : heads(n_heads) {
    q_proj = register_module("q_proj", torch::nn::Linear(d_model, d_model));
    k_proj = register_module("k_proj", torch::nn::Linear(d_model, d_model));
    v_proj = register_module("v_proj", torch::nn::Linear(d_model, d_model));
    out_proj = register_module("out_proj", torch::nn::Linear(d_model, d_model));
  }
  at::Tensor split(const at::Tensor& x) const {
    return x.view({x.size(0), x.size(1), heads, -1}).transpose(1, 2);  // (batch, n_heads, seq, d_head)
  }
  at::Tensor forward(const at::Tensor& x) {
    const auto y =
        at::scaled_dot_product_attention(split(q_proj(x)), split(k_proj(x)), split(v_proj(x)), {}, 0.0, true);
    return out_proj(y.transpose(1, 2).reshape({x.size(0), x.size(1), x.size(2)}));  // (batch, seq, d_model)
  }
  std::int64_t heads;
  torch::nn::Linear q_proj{nullptr}, k_proj{nullptr}, v_proj{nullptr}, out_proj{nullptr};
};

struct HandFeedForward : torch::nn::Module {
  HandFeedForward(std::int64_t d_model, std::int64_t d_ff) {
    up_proj = register_module("up_proj", torch::nn::Linear(d_model, d_ff));
    down_proj = register_module("down_proj", torch::nn::Linear(d_ff, d_model));
  }
  at::Tensor forward(const at::Tensor& x) { return down_proj(at::gelu(up_proj(x), "tanh")); }
  torch::nn::Linear up_proj{nullptr}, down_proj{nullptr};
};

struct HandBlock : torch::nn::Module {
  HandBlock(std::int64_t d_model, std::int64_t n_heads, std::int64_t d_ff) {
    const torch::nn::LayerNormOptions options({d_model});
    attention_norm = register_module("attention_norm", torch::nn::LayerNorm(options));
    attention = register_module("attention", std::make_shared<HandAttention>(d_model, n_heads));
    feed_forward_norm = register_module("feed_forward_norm", torch::nn::LayerNorm(options));
    feed_forward = register_module("feed_forward", std::make_shared<HandFeedForward>(d_model, d_ff));
  }
  at::Tensor forward(at::Tensor x) {
    x = x + attention->forward(attention_norm(x));
    return x + feed_forward->forward(feed_forward_norm(x));
  }
  torch::nn::LayerNorm attention_norm{nullptr}, feed_forward_norm{nullptr};
  std::shared_ptr<HandAttention> attention;
  std::shared_ptr<HandFeedForward> feed_forward;
};

struct HandStack : torch::nn::Module {
  HandStack(std::int64_t d_model, std::int64_t n_heads, std::int64_t d_ff, std::size_t n_layers) {
    const auto list = register_module("blocks", std::make_shared<torch::nn::Module>());
    for (std::size_t i = 0; i < n_layers; ++i) {
      const auto block = std::make_shared<HandBlock>(d_model, n_heads, d_ff);
      blocks.push_back(list->register_module(std::to_string(i), block));
    }
    final_norm = register_module("final_norm", torch::nn::LayerNorm(torch::nn::LayerNormOptions({d_model})));
  }
  at::Tensor forward(at::Tensor x) {
    for (const auto& block : blocks) x = block->forward(x);
    return final_norm(x);
  }
  std::vector<std::shared_ptr<HandBlock>> blocks;
  torch::nn::LayerNorm final_norm{nullptr};
};

void copy_weights(const torch::nn::Module& from, torch::nn::Module& to) {
  const at::NoGradGuard no_grad;
  const auto source = from.named_parameters();
  auto target = to.named_parameters();
  if (source.size() != target.size()) throw std::runtime_error("the two stacks differ in their number of parameters");
  for (auto& row : target) row.value().copy_(source[row.key()]);
}

template <class Pass>
double milliseconds(const Pass& pass) {
  const auto start = std::chrono::steady_clock::now();
  pass();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

int measure(const std::string& config, const std::string& batch, const std::string& seq, int rounds) {
  using namespace headwright;
  run::set_up_process();
  const auto session = run::open(
      {.config = config, .overrides = {"input.random.shape=[" + batch + ", " + seq + ", 768]"}, .plugin_path = {}});
  const auto inputs = run::make_inputs(session.plan);
  const auto composed = model::build(session.plan);
  const auto& dims = session.plan.model.dims;
  HandStack by_hand(dims.d_model, dims.n_heads, 4 * dims.d_model, composed->blocks.size());
  copy_weights(*composed, by_hand);
  by_hand.eval();

  const at::NoGradGuard no_grad;
  const auto difference = (composed->forward(inputs) - by_hand.forward(inputs.x)).abs().max().item<double>();
  std::vector<double> times, hand_times, ratios;
  for (int round = 0; round < rounds; ++round) {
    double ours = 0;
    const auto run_ours = [&] { ours = milliseconds([&] { composed->forward(inputs); }); };
    if (round % 2 == 0) run_ours();
    const double theirs = milliseconds([&] { by_hand.forward(inputs.x); });
    if (round % 2 == 1) run_ours();
    times.push_back(ours);
    hand_times.push_back(theirs);
    ratios.push_back(ours / theirs);
  }
  nlohmann::ordered_json result;
  result["shape"] = inputs.x.sizes().vec();
  result["layers"] = composed->blocks.size();
  result["dtype"] = session.plan.run.dtype;
  result["threads"] = at::get_num_threads();
  result["kernel"] = model::kernels_of(*composed).front().second.effective;
  result["rounds"] = rounds;
  result["max_abs_difference"] = difference;
  result["composed_ms"] = median(times);
  result["by_hand_ms"] = median(hand_times);
  result["median_ratio"] = median(ratios);
  std::cout << result.dump() << '\n';
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::cerr << "usage: bench_stack CONFIG BATCH SEQ ROUNDS\n";
    return 2;
  }
  try {
    return measure(argv[1], argv[2], argv[3], std::stoi(argv[4]));
  } catch (const std::exception& error) {
    std::cerr << "bench_stack: " << error.what() << '\n';
    return 1;
  }
}

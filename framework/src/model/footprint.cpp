// Sizes of a model that was never allocated.
#include <ATen/ATen.h>

#include <algorithm>
#include <map>
#include <unordered_set>
#include <utility>

#include "bind/walk.h"
#include "model/build.h"
#include "model/meta.h"

namespace headwright::model {
namespace {

struct Weight {
  std::int64_t parameters = 0, bytes = 0;
};

std::int64_t plus(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) throw ResourceError("the model's size does not fit in 64 bits");
  return sum;
}

std::int64_t times(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) throw ResourceError("the model's size does not fit in 64 bits");
  return product;
}

std::int64_t bytes_of(const at::Tensor& tensor, at::ScalarType dtype) {
  const auto size = tensor.is_floating_point() ? c10::elementSize(dtype) : tensor.element_size();
  return times(tensor.numel(), static_cast<std::int64_t>(size));
}

/// A tied weight stands twice in parameters(): what counts is the tensor.
std::vector<at::Tensor> distinct_parameters(const torch::nn::Module& module) {
  std::unordered_set<const void*> seen;
  auto parameters = module.parameters();
  std::erase_if(parameters, [&](const at::Tensor& p) { return !seen.insert(p.unsafeGetTensorImpl()).second; });
  return parameters;
}

Weight weigh(const torch::nn::Module& module, at::ScalarType dtype) {
  Weight weight;
  for (const auto& parameter : distinct_parameters(module)) {
    weight.parameters = plus(weight.parameters, parameter.numel());
    weight.bytes = plus(weight.bytes, bytes_of(parameter, dtype));
  }
  for (const auto& buffer : module.buffers()) weight.bytes = plus(weight.bytes, bytes_of(buffer, dtype));
  return weight;
}

/// Leaves one block of each kind, and says how many layers each stands for.
std::vector<std::int64_t> keep_distinct_blocks(bind::StackPlan& stack) {
  const auto all = std::exchange(stack.blocks, {});
  std::vector<std::int64_t> counts;
  std::map<std::pair<std::string, std::int64_t>, std::size_t> place;
  for (const auto& block : all) {
    if (block.shared) continue;
    const auto [found, fresh] = place.try_emplace({block.name, block.dims.d_model}, counts.size());
    if (fresh) {
      stack.blocks.push_back(block);
      counts.push_back(0);
    }
    ++counts[found->second];
  }
  return counts;
}

/// Of the layers that were left out.
std::int64_t bytes_of_repeats(const Stack& stack, const std::vector<std::int64_t>& counts, at::ScalarType dtype) {
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    bytes = plus(bytes, times(counts[i] - 1, weigh(*stack.blocks[i], dtype).bytes));
  }
  return bytes;
}

/// Of one sequence. What a window or a state keeps is there from the start; per token is what the second one adds.
std::optional<CacheFootprint> cache_footprint(const Model& model, const bind::Plan& plan) {
  if (!claims_cache(plan.model)) return {};
  const auto bytes = [&](std::int64_t tokens) {
    return without_memory([&] {
      std::int64_t sum = 0;
      for (const auto& [path, cache] : model.make_cache(1, tokens).layers) {
        for (const auto& [name, tensor] : cache.tensors) {
          sum = plus(sum, times(tensor.numel(), static_cast<std::int64_t>(tensor.element_size())));
        }
      }
      return sum;
    });
  };
  const auto tokens = plan.model.dims.context_length;
  CacheFootprint footprint{.per_token = bytes(2) - bytes(1), .fixed = 0, .tokens = tokens};
  footprint.fixed = bytes(1) - footprint.per_token;
  footprint.whole = tokens > 0 ? bytes(tokens) : 0;
  return footprint;
}

}  // namespace

bool claims_cache(const bind::ModelPlan& plan) {
  if (plan.head && plan.head.claims.pools) return false;
  const auto places = bind::walk_attentions(plan);
  return std::ranges::all_of(
             places,
             [](const auto& place) { return place.in_encoder || place.claims->memory || place.claims->cache; }) &&
         std::ranges::any_of(places, [](const auto& place) { return !place.in_encoder && place.claims->cache; });
}

std::int64_t count_parameters(const torch::nn::Module& module) { return weigh(module, at::kFloat).parameters; }

std::int64_t estimate_bytes(const bind::ModelPlan& plan, at::ScalarType dtype) {
  auto small = plan;
  const auto counts = keep_distinct_blocks(small);
  const auto of_encoder = small.encoder ? keep_distinct_blocks(*small.encoder) : std::vector<std::int64_t>();
  const auto model = without_memory([&] { return std::make_shared<Model>(small); });
  auto bytes = plus(weigh(*model, dtype).bytes, bytes_of_repeats(*model, counts, dtype));
  if (model->encoder) bytes = plus(bytes, bytes_of_repeats(*model->encoder, of_encoder, dtype));
  return bytes;
}

Footprint measure(const bind::Plan& plan) {
  const auto model = without_memory([&] { return std::make_shared<Model>(plan.model); });
  model->eval();
  const auto weight = weigh(*model, dtype_from(plan.run.dtype));
  Footprint footprint{.parameters = weight.parameters, .bytes = weight.bytes, .kernels = kernels_of(*model)};
  without_memory([&] { place(*model, at::kMeta, dtype_from(plan.run.dtype)); });  // caches are in the weights' dtype
  footprint.cache = cache_footprint(*model, plan);
  std::unordered_set<const void*> seen;
  for (const auto& module : model->named_modules()) {
    std::int64_t own = 0;
    for (const auto& parameter : module.value()->parameters(false)) {
      if (seen.insert(parameter.unsafeGetTensorImpl()).second) own += parameter.numel();
    }
    if (own > 0) footprint.modules.emplace_back(module.key(), own);
  }
  return footprint;
}

}  // namespace headwright::model

// Joins stem, layers, encoder and head, and hands each attention its cache.
#include "model/model.h"

#include <ATen/ATen.h>

#include "headwright/shapes.h"
#include "model/call_component.h"
#include "model/components.h"
#include "support/text.h"

namespace headwright::model {
namespace {

void expect_room(const ModelCache& cache, const Inputs& inputs) {
  const auto batch = inputs.x.size(0), after = cache.tokens() + inputs.x.size(1);
  if (batch == cache.batch && after <= cache.capacity) return;
  refuse_shape("cache", "x", inputs.x,
               "a batch of " + std::to_string(cache.batch) + " and at most " +
                   std::to_string(cache.capacity - cache.tokens()) + " tokens more: the capacity is " +
                   std::to_string(cache.capacity));
}

}  // namespace

void Stack::add_embedding(const bind::StackPlan& plan, const at::Tensor& tied_weight) {
  if (plan.positions.counted()) positions = std::make_shared<PositionCounter>(plan.positions);
  if (!plan.embedding) return;
  embedding_variant_ = plan.embedding.component.variant->name;
  embedding = make<Embedding>(plan.embedding.component, plan.embedding.dims);
  if (plan.embedding.claims.tied) embedding->tie(tied_weight);
  register_module("embedding", embedding);
}

void Stack::add_layers(const bind::StackPlan& plan) {
  block_list_ = register_module("blocks", std::make_shared<torch::nn::Module>());
  for (const auto& block : plan.blocks) {
    repeated.push_back(block.shared.has_value());
    blocks.push_back(block.shared
                         ? blocks.at(*block.shared)
                         : block_list_->register_module(std::to_string(blocks.size()), std::make_shared<Block>(block)));
  }
  final_norm = make<Norm>(plan.final_norm.component, plan.final_norm.dims);
  if (!final_norm) return;
  final_norm_variant_ = plan.final_norm.component.variant->name;
  register_module("final_norm", final_norm);
}

at::Tensor Stack::run(const Inputs& inputs, ModelCache* caches) {
  auto all = inputs;
  if (positions && !all.positions.defined()) all.positions = positions->forward(inputs);
  auto x = inputs.x;  // (batch, seq, d_model), or what the embedding takes
  if (embedding) {
    const auto own = all.with(x, "embedding");
    x = call_component(own.path, embedding_variant_, [&] { return embedding->forward(own); });
  }
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    x = blocks[i]->forward(all.with(x, "blocks." + std::to_string(i)), caches);
  }
  if (!final_norm) return x;
  const auto where = [&] { return std::pair(all.with(x, "final_norm").path, final_norm_variant_); };
  return call_component(where, [&] { return final_norm->forward(x); });
}

Encoder::Encoder(const bind::StackPlan& plan, const at::Tensor& tied_weight) {
  add_embedding(plan, tied_weight);
  add_layers(plan);
}

at::Tensor Encoder::forward(const Inputs& inputs) { return run(inputs, nullptr); }

Model::Model(const bind::ModelPlan& plan) {
  add_embedding(plan);
  const auto matrix = [&](const bind::Placed& placed) {
    return placed.claims.tied ? embedding->matrix() : at::Tensor();
  };
  if (plan.encoder) {
    encoder = register_module("encoder", std::make_shared<Encoder>(*plan.encoder, matrix(plan.encoder->embedding)));
  }
  add_layers(plan);
  in_steps_ =
      !plan.embedding || plan.embedding.claims.takes == Takes::tokens || plan.embedding.claims.takes == Takes::features;
  if (!plan.head) return;
  head_variant_ = plan.head.component.variant->name;
  head = make<Head>(plan.head.component, plan.head.dims);
  tied = plan.head.claims.tied;
  pools_ = plan.head.claims.pools;
  if (tied) head->tie(matrix(plan.head));
  register_module("head", head);
}

at::Tensor Model::encode(const Inputs& inputs) {
  if (!encoder) return inputs.memory;
  // Positions, documents and the cache are those of x
  Inputs own{.x = inputs.memory, .key_mask = inputs.memory_mask, .recorder = inputs.recorder};
  own.path = inputs.with(inputs.memory, "encoder").path;
  return encoder->forward(own);  // (batch, memory_len, d_memory)
}

at::Tensor Model::forward(const Inputs& inputs, ModelCache* cache) {
  auto all = inputs;
  Cache counted;  // for what counts tokens: how many there are so far
  if (cache != nullptr) {
    expect_room(*cache, inputs);
    if (!cache->memory.defined()) cache->memory = encode(inputs);
    all.memory = cache->memory;
    counted.length = cache->length;
    all.cache = &counted;
  } else {
    all.memory = encode(inputs);
  }
  auto x = run(all, cache);  // (batch, seq, d_model)
  if (cache != nullptr) cache->length = cache->length + inputs.x.size(1);
  if (!head) return x;
  const auto own = all.with(x, "head");
  return call_component(own.path, head_variant_, [&] { return head->forward(own); });
}

ModelCache Model::make_cache(std::int64_t batch, std::int64_t capacity) const {
  ModelCache cache{.batch = batch, .capacity = capacity, .length = at::zeros({}, at::kLong)};
  std::vector<std::string> without;
  for (const auto& attention : attentions()) {
    const auto& claims = attention.plan->claims;
    if (attention.in_encoder || claims.memory) continue;  // read whole with every call
    if (claims.cache) cache.layers[attention.path] = attention.module->make_cache(batch, capacity);
    else without.push_back(attention.path + " ('" + attention.plan->component.variant->name + "')");
  }
  if (!in_steps_) without.emplace_back("embedding, which is no sequence that goes on");
  if (pools_) without.emplace_back("head, which reads the whole sequence");
  if (without.empty()) return cache;
  throw Error("[cache] this model has none, since these read the whole sequence: " + support::join(without, ", "));
}

std::vector<AttentionAt> Model::attentions() const {
  std::vector<AttentionAt> found;
  const auto add = [&](const Stack& stack, const std::string& prefix) {
    for (std::size_t i = 0; i < stack.blocks.size(); ++i) {
      for (const auto& sublayer : stack.blocks[i]->sublayers()) {
        if (!sublayer.attention) continue;
        found.push_back({prefix + "blocks." + std::to_string(i) + "." + sublayer.plan.name, sublayer.attention,
                         &sublayer.plan, !prefix.empty(), stack.repeated[i]});
      }
    }
  };
  if (encoder) add(*encoder, "encoder.");
  add(*this, "");
  return found;
}

}  // namespace headwright::model

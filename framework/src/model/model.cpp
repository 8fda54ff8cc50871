#include "model/model.h"

#include <ATen/ATen.h>
#include <torch/nn/init.h>

#include <cmath>

#include "headwright/shapes.h"
#include "model/components.h"

namespace headwright::model {

Embedding::Embedding(const bind::EmbeddingPlan& plan, const Dims& dims, const at::Tensor& tied_weight) {
  torch::nn::EmbeddingOptions options(plan.vocab_size, dims.d_model);
  if (tied_weight.defined()) options._weight(tied_weight);
  token = register_module("token", torch::nn::Embedding(options));
  if (plan.position) position = register_module("position", make<Position>(plan.position, dims));
  if (plan.dropout > 0) dropout_ = register_module("dropout", torch::nn::Dropout(plan.dropout));
}

at::Tensor Embedding::forward(const at::Tensor& tokens, const at::Tensor& positions) {
  auto x = token(tokens);  // (batch, seq, d_model)
  if (position) x = position->embed(x, positions.defined() ? positions : positions_along(tokens, 1));
  return dropout_.is_empty() ? x : dropout_(x);
}

Block::Block(const bind::BlockPlan& plan) : order(plan.order) {
  const auto after = plan.feed_forward_dims();
  if (plan.norm && plan.attention) {
    attention_norm = register_module("attention_norm", make<Norm>(plan.norm, plan.dims));
  }
  if (plan.attention) attention = register_module("attention", make<Attention>(plan.attention, plan.dims));
  if (plan.norm && plan.cross_attention) {
    cross_attention_norm = register_module("cross_attention_norm", make<Norm>(plan.norm, plan.cross_dims));
  }
  if (plan.cross_attention) {
    cross_attention = register_module("cross_attention", make<Attention>(plan.cross_attention, plan.cross_dims));
  }
  if (plan.norm && plan.feed_forward && order != bind::Order::parallel) {
    feed_forward_norm = register_module("feed_forward_norm", make<Norm>(plan.norm, after));
  }
  if (plan.feed_forward) feed_forward = register_module("feed_forward", make<FeedForward>(plan.feed_forward, after));
  if (plan.dropout > 0) dropout_ = register_module("dropout", torch::nn::Dropout(plan.dropout));
}

at::Tensor Block::forward(const Inputs& inputs) {
  const auto drop = [&](const at::Tensor& y) { return dropout_.is_empty() ? y : dropout_(y); };
  const auto attend_to = [&](const at::Tensor& x) { return drop(attention->forward(inputs.with(x, "attention"))); };
  const auto look_up = [&](const at::Tensor& x) {
    return drop(cross_attention->forward(inputs.with(x, "cross_attention")));
  };
  const auto feed = [&](const at::Tensor& x) { return drop(feed_forward->forward(x)); };

  auto x = inputs.x;  // (batch, seq, d_model)
  switch (order) {
    case bind::Order::pre_norm:
      if (attention) x = x + attend_to(attention_norm->forward(x));
      if (cross_attention) x = x + look_up(cross_attention_norm->forward(x));
      if (feed_forward) x = x + feed(feed_forward_norm->forward(x));
      return x;
    case bind::Order::post_norm:
      if (attention) x = attention_norm->forward(x + attend_to(x));
      if (cross_attention) x = cross_attention_norm->forward(x + look_up(x));
      if (feed_forward) x = feed_forward_norm->forward(x + feed(x));
      return x;
    case bind::Order::parallel: {
      const auto normed = attention_norm->forward(x);
      return x + attend_to(normed) + feed(normed);
    }
    case bind::Order::plain:
      break;
  }
  if (attention) x = attend_to(x);
  if (cross_attention) x = look_up(x);
  if (feed_forward) x = feed(x);
  return x;
}

Head::Head(std::int64_t d_in, const bind::HeadPlan& plan, const at::Tensor& tied_weight) {
  if (tied_weight.defined()) {
    weight = register_parameter("weight", tied_weight);
  } else {
    weight = register_parameter("weight", at::empty({plan.d_out, d_in}));
    torch::nn::init::kaiming_uniform_(weight, std::sqrt(5.0));  // what torch::nn::Linear draws
  }
  if (!plan.bias) return;
  bias = register_parameter("bias", at::empty({plan.d_out}));
  const double bound = 1 / std::sqrt(static_cast<double>(d_in));
  torch::nn::init::uniform_(bias, -bound, bound);
}

at::Tensor Head::forward(const at::Tensor& x) { return at::linear(x, weight, bias); }

void Stack::add_embedding(const bind::StackPlan& plan, const at::Tensor& tied_weight) {
  if (!plan.embedding) return;
  embedding = register_module("embedding", std::make_shared<Embedding>(*plan.embedding, plan.dims, tied_weight));
}

void Stack::add_layers(const bind::StackPlan& plan) {
  block_list_ = register_module("blocks", std::make_shared<torch::nn::Module>());
  for (const auto& block : plan.blocks) {
    blocks.push_back(block_list_->register_module(std::to_string(blocks.size()), std::make_shared<Block>(block)));
  }
  if (plan.final_norm) final_norm = register_module("final_norm", make<Norm>(plan.final_norm, plan.last_dims()));
}

at::Tensor Stack::run(const Inputs& inputs) {
  auto x = embedding ? embedding->forward(inputs.x, inputs.positions) : inputs.x;  // (batch, seq, d_model)
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    x = blocks[i]->forward(inputs.with(x, "blocks." + std::to_string(i)));
  }
  return final_norm ? final_norm->forward(x) : x;
}

Encoder::Encoder(const bind::StackPlan& plan, const at::Tensor& tied_weight) {
  add_embedding(plan, tied_weight);
  add_layers(plan);
}

at::Tensor Encoder::forward(const Inputs& inputs) { return run(inputs); }

Model::Model(const bind::ModelPlan& plan) {
  add_embedding(plan);
  if (plan.encoder) {
    const bool shares = plan.encoder->embedding && plan.encoder->embedding->tied;
    encoder = register_module(
        "encoder", std::make_shared<Encoder>(*plan.encoder, shares ? embedding->token->weight : at::Tensor()));
  }
  add_layers(plan);
  if (plan.head) {
    tied = plan.head->tied;
    head = register_module("head", std::make_shared<Head>(plan.last_dims().d_model, *plan.head,
                                                          tied ? embedding->token->weight : at::Tensor()));
  }
}

at::Tensor Model::encode(const Inputs& inputs) {
  if (!encoder) return inputs.memory;
  // Positions, documents and the cache are those of x
  Inputs own{.x = inputs.memory, .key_mask = inputs.memory_mask, .recorder = inputs.recorder};
  own.path = inputs.with(inputs.memory, "encoder").path;
  return encoder->forward(own);  // (batch, memory_len, d_memory)
}

std::vector<std::pair<std::string, std::shared_ptr<Attention>>> Model::attentions() const {
  std::vector<std::pair<std::string, std::shared_ptr<Attention>>> found;
  const auto add = [&](const Stack& stack, const std::string& prefix) {
    for (std::size_t i = 0; i < stack.blocks.size(); ++i) {
      const auto path = prefix + "blocks." + std::to_string(i) + ".";
      const auto& block = *stack.blocks[i];
      if (block.attention) found.emplace_back(path + "attention", block.attention);
      if (block.cross_attention) found.emplace_back(path + "cross_attention", block.cross_attention);
    }
  };
  if (encoder) add(*encoder, "encoder.");
  add(*this, "");
  return found;
}

at::Tensor Model::forward(const Inputs& inputs) {
  auto all = inputs;
  all.memory = encode(inputs);
  const auto x = run(all);  // (batch, seq, d_model)
  return head ? head->forward(x) : x;
}

}  // namespace headwright::model

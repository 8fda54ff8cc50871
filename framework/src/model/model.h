// The module tree that a plan becomes.
//
//   embedding.token.weight, embedding.position.*, blocks.0.attention_norm.*, blocks.0.attention.*,
//   blocks.0.cross_attention_norm.*, blocks.0.cross_attention.*, blocks.0.feed_forward_norm.*, blocks.0.feed_forward.*,
//   final_norm.*, head.*; an encoder has the same but for a head: encoder.embedding.token.weight, encoder.blocks.0.*
#pragma once
#include <torch/nn/module.h>
#include <torch/nn/modules/dropout.h>
#include <torch/nn/modules/embedding.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bind/plan.h"
#include "headwright/attention.h"
#include "headwright/feed_forward.h"
#include "headwright/norm.h"
#include "headwright/position.h"

namespace headwright::model {

/// Token embedding, plus positions where the plan has them, then dropout.
class Embedding final : public torch::nn::Module {
 public:
  /// tied_weight: the matrix to share; undefined = draw one.
  Embedding(const bind::EmbeddingPlan& plan, const Dims& dims, const at::Tensor& tied_weight = {});
  at::Tensor forward(const at::Tensor& tokens, const at::Tensor& positions);  // (batch, seq) -> (batch, seq, d_model)

  torch::nn::Embedding token{nullptr};
  std::shared_ptr<Position> position;  // null = none

 private:
  torch::nn::Dropout dropout_{nullptr};
};

/// One layer. pre_norm:  x + attention(norm(x)), then x + cross_attention(norm(x)), then x + feed_forward(norm(x))
///            post_norm: norm(x + attention(x)), then norm(x + cross_attention(x)), then norm(x + feed_forward(x))
///            parallel:  x + attention(norm(x)) + feed_forward(norm(x)), one norm; it has no cross_attention
///            plain:     attention, then cross_attention, then feed_forward, without residual and norm
class Block final : public torch::nn::Module {
 public:
  explicit Block(const bind::BlockPlan& plan);
  at::Tensor forward(const Inputs& inputs);

  const bind::Order order;
  std::shared_ptr<Attention> attention, cross_attention;  // null = none; so for the others
  std::shared_ptr<FeedForward> feed_forward;
  std::shared_ptr<Norm> attention_norm, cross_attention_norm, feed_forward_norm;

 private:
  torch::nn::Dropout dropout_{nullptr};
};

/// From features to the output. A tied head registers the embedding's own tensor as its weight.
class Head final : public torch::nn::Module {
 public:
  Head(std::int64_t d_in, const bind::HeadPlan& plan, const at::Tensor& tied_weight);  // undefined = draw one
  at::Tensor forward(const at::Tensor& x);  // (batch, seq, d_in) -> (batch, seq, d_out)

  at::Tensor weight, bias;  // (d_out, d_in), (d_out)
};

/// Token embedding, layers and a norm. What it lacks, it lacks.
class Stack : public torch::nn::Module {
 public:
  std::shared_ptr<Embedding> embedding;  // null = features come in
  std::vector<std::shared_ptr<Block>> blocks;
  std::shared_ptr<Norm> final_norm;

 protected:
  void add_embedding(const bind::StackPlan& plan, const at::Tensor& tied_weight = {});
  void add_layers(const bind::StackPlan& plan);

  /// inputs.x: token ids (batch, seq) with an embedding, else features (batch, seq, d_model).
  at::Tensor run(const Inputs& inputs);  // (batch, seq, d_model)

 private:
  std::shared_ptr<torch::nn::Module> block_list_;
};

/// Makes of a sequence what the layers of the model read as their memory.
class Encoder final : public Stack {
 public:
  Encoder(const bind::StackPlan& plan, const at::Tensor& tied_weight);
  at::Tensor forward(const Inputs& inputs);
};

class Model final : public Stack {
 public:
  explicit Model(const bind::ModelPlan& plan);

  /// inputs.x: token ids (batch, seq) with an embedding, else features (batch, seq, d_model).
  /// inputs.memory: what the encoder reads, where there is one: token ids (batch, memory_len), or features. Its mask
  /// hides keys from the encoder's own layers and from those that read its output.
  at::Tensor forward(const Inputs& inputs);

  /// What the layers read as their memory: the encoder's output, or what came in.
  at::Tensor encode(const Inputs& inputs);

  /// Every attention with its path, from input to output: "encoder.blocks.0.attention", "blocks.0.cross_attention".
  std::vector<std::pair<std::string, std::shared_ptr<Attention>>> attentions() const;

  std::shared_ptr<Encoder> encoder;  // null = the memory is read as it comes
  std::shared_ptr<Head> head;        // null = features come out
  bool tied = false;                 // head.weight is embedding.token.weight
};

}  // namespace headwright::model

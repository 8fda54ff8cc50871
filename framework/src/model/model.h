// The module tree that a plan becomes.
//
//   embedding.token.weight, embedding.position.*, blocks.0.attention_norm.*, blocks.0.attention.*,
//   blocks.0.feed_forward_norm.*, blocks.0.feed_forward.*, final_norm.*, head.*
#pragma once
#include <torch/nn/module.h>
#include <torch/nn/modules/dropout.h>
#include <torch/nn/modules/embedding.h>

#include <memory>
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
  Embedding(const bind::EmbeddingPlan& plan, const Dims& dims);
  at::Tensor forward(const at::Tensor& tokens, const at::Tensor& positions);  // (batch, seq) -> (batch, seq, d_model)

  torch::nn::Embedding token{nullptr};
  std::shared_ptr<Position> position;  // null = none

 private:
  torch::nn::Dropout dropout_{nullptr};
};

/// One layer. pre_norm:  x + attention(norm(x)), then x + feed_forward(norm(x))
///            post_norm: norm(x + attention(x)), then norm(x + feed_forward(x))
///            parallel:  x + attention(norm(x)) + feed_forward(norm(x)), one norm
///            plain:     attention, then feed_forward, without residual and norm
class Block final : public torch::nn::Module {
 public:
  explicit Block(const bind::BlockPlan& plan);
  at::Tensor forward(const Inputs& inputs);

  const bind::Order order;
  std::shared_ptr<Attention> attention;  // null = none; so for the others
  std::shared_ptr<FeedForward> feed_forward;
  std::shared_ptr<Norm> attention_norm, feed_forward_norm;

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

class Model final : public torch::nn::Module {
 public:
  explicit Model(const bind::ModelPlan& plan);

  /// inputs.x: token ids (batch, seq) with an embedding, else features (batch, seq, d_model).
  at::Tensor forward(const Inputs& inputs);

  std::shared_ptr<Embedding> embedding;  // null = features come in
  std::vector<std::shared_ptr<Block>> blocks;
  std::shared_ptr<Norm> final_norm;
  std::shared_ptr<Head> head;  // null = features come out
  bool tied = false;           // head.weight is embedding.token.weight

 private:
  std::shared_ptr<torch::nn::Module> block_list_;
};

}  // namespace headwright::model

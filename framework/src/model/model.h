// The module tree that a plan becomes.
//
//   embedding.*, blocks.0.attention_norm.*, blocks.0.attention.*, blocks.0.cross_attention_norm.*,
//   blocks.0.cross_attention.*, blocks.0.feed_forward_norm.*, blocks.0.feed_forward.*, final_norm.*, head.*
// An encoder has the same but for a head: encoder.embedding.*, encoder.blocks.0.*. A layer that shares the module of an
// earlier one has no module of its own.
#pragma once
#include <torch/nn/module.h>

#include <memory>
#include <string>
#include <vector>

#include "bind/plan.h"
#include "headwright/embedding.h"
#include "headwright/head.h"
#include "headwright/norm.h"
#include "model/block.h"
#include "model/model_cache.h"
#include "model/position_counter.h"

namespace headwright::model {

/// Embedding, layers and a norm. What it lacks, it lacks.
class Stack : public torch::nn::Module {
 public:
  std::shared_ptr<Embedding> embedding;        // null = features come in
  std::shared_ptr<PositionCounter> positions;  // null = each component counts from 0 on its own
  std::vector<std::shared_ptr<Block>> blocks;  // one per layer
  std::vector<bool> repeated;                  // the layer is the module of an earlier one
  std::shared_ptr<Norm> final_norm;

 protected:
  void add_embedding(const bind::StackPlan& plan, const at::Tensor& tied_weight = {});
  void add_layers(const bind::StackPlan& plan);

  /// inputs.x: what the embedding takes, or features (batch, seq, d_model).
  at::Tensor run(const Inputs& inputs, ModelCache* caches);  // (batch, seq, d_model)

 private:
  std::shared_ptr<torch::nn::Module> block_list_;
  std::string embedding_variant_, final_norm_variant_;  // for messages
};

/// Makes of a sequence what the layers of the model read as their memory.
class Encoder final : public Stack {
 public:
  Encoder(const bind::StackPlan& plan, const at::Tensor& tied_weight);
  at::Tensor forward(const Inputs& inputs);
};

/// An attention of a model, at the path of its layer.
struct AttentionAt {
  std::string path;  // "encoder.blocks.0.attention", "blocks.0.cross_attention"
  std::shared_ptr<Attention> module;
  const bind::SublayerPlan* plan = nullptr;
  bool in_encoder = false;
  bool repeated = false;  // the module of an earlier layer
};

class Model final : public Stack {
 public:
  explicit Model(const bind::ModelPlan& plan);

  /// inputs.x: what the embedding takes, or features (batch, seq, d_model).
  /// inputs.memory: what the encoder reads, where there is one, or the layers. Its mask hides keys from the encoder's
  /// own layers and from those that read its output.
  /// cache: x continues the sequences in it and is appended to them; masks and document ids are of all tokens so far.
  /// The memory is encoded with the first call and may be left out afterwards.
  at::Tensor forward(const Inputs& inputs, ModelCache* cache = nullptr);

  /// A cache for `batch` sequences of up to `capacity` tokens. Throws Error naming the layers that have none.
  ModelCache make_cache(std::int64_t batch, std::int64_t capacity) const;

  /// What the layers read as their memory: the encoder's output, or what came in.
  at::Tensor encode(const Inputs& inputs);

  /// From input to output.
  std::vector<AttentionAt> attentions() const;

  std::shared_ptr<Encoder> encoder;  // null = the memory is read as it comes
  std::shared_ptr<Head> head;        // null = features come out
  bool tied = false;                 // the head shares the embedding's matrix

 private:
  std::string head_variant_;  // for messages
  bool in_steps_ = true;      // x can come piece by piece
  bool pools_ = false;
};

}  // namespace headwright::model

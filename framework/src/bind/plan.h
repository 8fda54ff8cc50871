// A config that has been understood: every name resolved, every default filled in, every rule checked.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "headwright/variant.h"
#include "spec/node.h"

namespace headwright::bind {

enum class Order { pre_norm, post_norm, parallel, plain };

struct EmbeddingPlan {
  std::int64_t vocab_size = 0;
  Component position;  // claims embed
  double dropout = 0;
  bool tied = false;  // of an encoder: shares the matrix of the model's own embedding
};

/// One layer of the stack. An absent component has no variant.
struct BlockPlan {
  std::string name;  // under model.blocks
  Dims dims;
  Order order = Order::plain;
  double dropout = 0;  // on what is added to the residual
  Component attention, feed_forward, norm;
  Claims claims;           // of the attention
  std::int64_t d_out = 0;  // width that the block hands on
  Component cross_attention;
  Claims cross_claims;
  Dims cross_dims;  // of the cross-attention: the width is what the attention hands on

  Dims feed_forward_dims() const;  // the width is what the attentions hand on
};

struct HeadPlan {
  bool tied = false;  // shares the embedding's matrix
  bool bias = false;
  std::int64_t d_out = 0;
};

/// Token embedding, layers and the norm after them: what an encoder has, and a model.
struct StackPlan {
  Dims dims;
  std::optional<EmbeddingPlan> embedding;
  std::vector<BlockPlan> blocks;  // one per layer, repeats expanded
  Component final_norm;

  Dims last_dims() const;  // the width is what the last layer hands on
};

struct ModelPlan : StackPlan {
  std::optional<StackPlan> encoder;  // its output is the memory of every layer that reads one
  std::optional<HeadPlan> head;
  std::int64_t d_out = 0;  // width of the output

  bool takes_memory() const;               // some layer reads one
  bool takes_key_mask() const;             // some attention reads the sequence itself, and each of those honours a mask
  bool takes_memory_mask() const;          // so for what reads the memory, an encoder's own layers among it
  bool takes_document_ids() const;         // some layer reads them
  std::int64_t memory_vocab_size() const;  // of token ids that an encoder takes; 0 = the memory is features
  std::int64_t memory_width() const;       // of features that come in as the memory
  std::int64_t longest_memory() const;     // 0 = without a limit
};

struct RunPlan {
  std::string device = "auto", dtype = "float32", kernel = "auto";
  std::int64_t seed = 123;
  std::optional<std::int64_t> threads;
};

/// Where a tensor comes from. Values are flat, in row-major order.
struct TensorSource {
  enum class From { nothing, values, file, random };
  From from = From::nothing;
  std::vector<double> values;
  std::vector<std::int64_t> shape;  // of values, or of the random tensor
  bool integers = false;            // token ids
  std::string file, tensor;         // tensor: a name within a .safetensors
  std::int64_t seed = 0;            // of the random tensor
  spec::Mark mark;
};

struct InputPlan {
  TensorSource x, memory, key_mask, memory_mask, document_ids;
};

struct Plan {
  std::string name, description;
  ModelPlan model;
  RunPlan run;
  InputPlan input;
  spec::Node resolved;  // every key with its value; a mark in the file "default" = nobody wrote it
};

}  // namespace headwright::bind

// A config that has been understood: every name resolved, every default filled in, every rule checked.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "headwright/variant.h"
#include "spec/node.h"

namespace headwright::bind {

/// A component at its place in the model, with the sizes that it gets there and what it promises with them.
struct Placed {
  Component component;
  Dims dims;
  Claims claims;
  spec::Mark mark;         // of the component in the file
  std::string written_at;  // its path there: "model.blocks.dense.attention"
  explicit operator bool() const { return static_cast<bool>(component); }
};

/// What a sublayer reads: what came before it, or what came into the block.
enum class Reads { previous, block };

/// One step of a block: x <- residual_norm(x + residual_scale * output_norm(f(norm(read)))), each part where it is
/// there. Without a residual it is x <- output_norm(f(norm(read))).
struct SublayerPlan : Placed {
  std::string name;             // of its module within the block: "attention"
  Component norm, output_norm;  // of what goes in; of what comes out
  Component residual_norm;      // of the sum
  std::string shared_norm;      // the sublayer before it whose normalised input it reads too
  Reads input = Reads::previous;
  bool residual = true;
  double residual_scale = 1;  // on what is added
  double dropout = 0;         // on what is added
  std::int64_t d_out = 0;     // width that it hands on

  bool is_attention() const { return component.variant->kind == Kind::attention; }
  Dims dims_after() const;  // sizes of a norm of what it hands on
};

/// One layer of the stack.
struct BlockPlan {
  std::string name;  // under model.blocks
  Dims dims;         // of what comes in
  std::vector<SublayerPlan> sublayers;
  std::int64_t d_out = 0;             // width that the block hands on
  std::optional<std::size_t> shared;  // the earlier layer whose module, and so whose weights, this one is
  spec::Mark kernel_mark;             // of the key that forces its kernel
  std::string kernel_path;            // "run.kernel"
};

/// How positions are counted where the input gives none.
struct PositionsPlan {
  bool visible = false;       // along the tokens that the key mask shows
  bool per_document = false;  // from 0 in each document
  bool counted() const { return visible || per_document; }
};

/// Embedding, layers and the norm after them: what an encoder has, and a model.
struct StackPlan {
  Dims dims;
  Placed embedding;
  PositionsPlan positions;
  std::vector<BlockPlan> blocks;  // one per layer, repeats expanded
  Placed final_norm;

  Dims last_dims() const;  // the width is what the last layer hands on
};

struct ModelPlan : StackPlan {
  std::optional<StackPlan> encoder;  // its output is the memory of every layer that reads one
  Placed head;
  std::int64_t d_out = 0;  // width of the output

  bool takes_x() const;                 // all but learned latents do
  bool takes_memory() const;            // some layer reads one, or learned latents take its batch
  bool takes_key_mask() const;          // something reads the sequence itself, and all of that honours a mask
  bool takes_memory_mask() const;       // every layer that reads the memory honours a mask, and an encoder's layers do
  bool takes_document_ids() const;      // some layer reads them, and all that mix tokens do
  bool takes_positions() const;         // the embedding or some layer follows them
  bool takes_token_types() const;       // the embedding follows them
  std::int64_t longest_memory() const;  // 0 = without a limit
};

/// What a tensor of the input is: token ids, features of a width, images.
struct Wanted {
  Takes takes = Takes::features;
  std::int64_t vocab_size = 0;
  std::vector<std::int64_t> item_shape;  // of a feature vector or an image
};
Wanted wanted_input(const StackPlan& stack);  // of the model's own, or of its encoder
Wanted wanted_memory(const ModelPlan& model);

struct RunPlan {
  std::string device = "auto", dtype = "float32", kernel = "auto";
  std::int64_t seed = 123;
  std::optional<std::int64_t> threads;
  spec::Mark kernel_mark;  // of run.kernel
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
  TensorSource x, memory, key_mask, memory_mask, document_ids, positions, token_types;
};

struct Plan {
  std::string name, description;
  ModelPlan model;
  RunPlan run;
  InputPlan input;
  spec::Node resolved;  // every key with its value; a mark in the file "default" = nobody wrote it
};

}  // namespace headwright::bind

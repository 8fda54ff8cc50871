// The framework's own keys, declared with the same rows as a plugin's parameters. The reader, the hints, the JSON
// Schema and the docs all walk these tables.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headwright/params.h"

namespace headwright::bind {

struct TopKeys {
  std::string name;
  std::optional<std::string> description;
  std::vector<std::string> plugins;

  static constexpr auto fields() {
    return std::tuple{
        field("name", &TopKeys::name, "what the model is called", required()),
        field("description", &TopKeys::description, "one line for a reader"),
        field("plugins", &TopKeys::plugins, "plugin libraries or folders of them, seen from the config's folder"),
    };
  }
};

struct ModelKeys {
  std::int64_t d_model = 0;
  std::int64_t n_heads = 1;
  std::optional<std::int64_t> n_kv_heads, d_head, context_length, d_memory;
  Component final_norm;

  static constexpr auto fields() {
    return std::tuple{
        field("d_model", &ModelKeys::d_model, "width of the features between layers", required() | at_least(1)),
        field("n_heads", &ModelKeys::n_heads, "attention heads per layer", at_least(1)),
        field("n_kv_heads", &ModelKeys::n_kv_heads, "heads of keys and values; absent = n_heads, 1 = multi-query",
              at_least(1)),
        field("d_head", &ModelKeys::d_head, "width of a head; absent = d_model / n_heads", at_least(1)),
        field("context_length", &ModelKeys::context_length, "longest sequence, in tokens", at_least(1)),
        field("d_memory", &ModelKeys::d_memory, "width of the memory that cross-attention reads; absent = d_model",
              at_least(1)),
        field("final_norm", &ModelKeys::final_norm, "norm after the last layer", component_of(Kind::norm)),
    };
  }
};

struct EncoderKeys {
  std::optional<std::int64_t> d_model, n_heads, n_kv_heads, d_head, context_length;
  Component final_norm;

  static constexpr auto fields() {
    return std::tuple{
        field("d_model", &EncoderKeys::d_model, "width of the features between layers; absent = model.d_model",
              at_least(1)),
        field("n_heads", &EncoderKeys::n_heads, "attention heads per layer; absent = model.n_heads", at_least(1)),
        field("n_kv_heads", &EncoderKeys::n_kv_heads,
              "heads of keys and values; absent = n_heads where that is given, else model.n_kv_heads", at_least(1)),
        field("d_head", &EncoderKeys::d_head,
              "width of a head; absent = d_model / n_heads where one of them is given, "
              "else model.d_head",
              at_least(1)),
        field("context_length", &EncoderKeys::context_length,
              "longest memory, in tokens; absent = model.context_length", at_least(1)),
        field("final_norm", &EncoderKeys::final_norm, "norm after the last layer", component_of(Kind::norm)),
    };
  }
};

struct EncoderEmbeddingKeys {
  bool tied = false;
  std::optional<std::int64_t> vocab_size;
  Component position;
  double dropout = 0;

  static constexpr auto fields() {
    return std::tuple{
        field("tied", &EncoderEmbeddingKeys::tied, "share the matrix of the model's own token embedding"),
        field("vocab_size", &EncoderEmbeddingKeys::vocab_size,
              "number of token ids; absent = that of the shared matrix", at_least(1)),
        field("position", &EncoderEmbeddingKeys::position, "positions added to the token embedding",
              component_of(Kind::position)),
        field("dropout", &EncoderEmbeddingKeys::dropout, "probability of dropping an element of the sum, in training",
              probability()),
    };
  }
};

struct EmbeddingKeys {
  std::int64_t vocab_size = 0;
  Component position;
  double dropout = 0;

  static constexpr auto fields() {
    return std::tuple{
        field("vocab_size", &EmbeddingKeys::vocab_size, "number of token ids", required() | at_least(1)),
        field("position", &EmbeddingKeys::position, "positions added to the token embedding",
              component_of(Kind::position)),
        field("dropout", &EmbeddingKeys::dropout, "probability of dropping an element of the sum, in training",
              probability()),
    };
  }
};

struct BlockKeys {
  std::string order = "pre_norm";
  Component norm, attention, cross_attention, feed_forward;
  double dropout = 0;
  std::optional<std::string> kernel;
  std::optional<std::int64_t> n_heads, n_kv_heads, d_head;

  static constexpr auto fields() {
    return std::tuple{
        field("order", &BlockKeys::order, "where the norms and residuals stand; plain = neither",
              one_of("pre_norm", "post_norm", "parallel", "plain")),
        field("norm", &BlockKeys::norm, "norm of each sub-layer", component_of(Kind::norm)),
        field("attention", &BlockKeys::attention, "mixes tokens", component_of(Kind::attention)),
        field("cross_attention", &BlockKeys::cross_attention,
              "reads the memory, between attention and feed_forward; a variant's `cross` is true here",
              component_of(Kind::attention)),
        field("feed_forward", &BlockKeys::feed_forward, "works on each token alone", component_of(Kind::feed_forward)),
        field("dropout", &BlockKeys::dropout, "probability of dropping an element before a residual, in training",
              probability()),
        field("kernel", &BlockKeys::kernel, "attention kernel of this block; absent = run.kernel"),
        field("n_heads", &BlockKeys::n_heads, "attention heads; absent = model.n_heads", at_least(1)),
        field("n_kv_heads", &BlockKeys::n_kv_heads, "heads of keys and values; absent = model.n_kv_heads", at_least(1)),
        field("d_head", &BlockKeys::d_head, "width of a head; absent = model.d_head", at_least(1)),
    };
  }
};

inline constexpr std::int64_t kMostLayers = 10000;

struct LayerKeys {
  std::optional<std::string> use;
  std::optional<std::vector<std::string>> pattern;
  std::int64_t repeat = 1;

  static constexpr auto fields() {
    return std::tuple{
        field("use", &LayerKeys::use, "name of a block under model.blocks"),
        field("pattern", &LayerKeys::pattern, "names of blocks, one layer each"),
        field("repeat", &LayerKeys::repeat, "how often the block or the pattern is repeated", between(1, kMostLayers)),
    };
  }
};

struct HeadKeys {
  bool tied = false, bias = false;
  std::optional<std::int64_t> d_out;

  static constexpr auto fields() {
    return std::tuple{
        field("tied", &HeadKeys::tied, "share the matrix of the token embedding"),
        field("bias", &HeadKeys::bias, "add a bias"),
        field("d_out", &HeadKeys::d_out, "width of the output; absent = vocab_size", at_least(1)),
    };
  }
};

struct RunKeys {
  std::string device = "auto", dtype = "float32", kernel = "auto";
  std::int64_t seed = 123;
  std::optional<std::int64_t> threads;

  static constexpr auto fields() {
    return std::tuple{
        field("device", &RunKeys::device, "auto, cpu, cuda, cuda:N or mps; auto = the first usable of cuda, mps, cpu"),
        field("dtype", &RunKeys::dtype, "of parameters and features",
              one_of("float32", "float64", "bfloat16", "float16")),
        field("kernel", &RunKeys::kernel, "attention kernel; auto = the first that can express the layer"),
        field("seed", &RunKeys::seed, "of the random weights", at_least(0)),
        field("threads", &RunKeys::threads, "threads; absent = OMP_NUM_THREADS, else one for each usable processor",
              between(1, 4096)),
    };
  }
};

struct SourceKeys {
  std::optional<std::string> file, tensor;

  static constexpr auto fields() {
    return std::tuple{
        field("file", &SourceKeys::file, "a .npy or .safetensors file, seen from the config's folder"),
        field("tensor", &SourceKeys::tensor, "name of a tensor in a .safetensors file that holds several"),
    };
  }
};

struct RandomKeys {
  std::vector<std::int64_t> shape;
  std::int64_t seed = 0;

  static constexpr auto fields() {
    return std::tuple{
        field("shape", &RandomKeys::shape, "[batch, seq] of token ids, or [batch, seq, width] of features",
              required() | at_least(0)),
        field("seed", &RandomKeys::seed, "of the random numbers", at_least(0)),
    };
  }
};

/// A part of the language: its rows, and the keys that hold a structure of their own.
struct Structure {
  std::string_view key, doc;
  bool required = false;
};

struct Table {
  std::string_view name;  // where it stands: "model.blocks.NAME"
  std::vector<ParamSpec> rows;
  std::vector<Structure> structures;

  std::vector<std::string> keys() const;
};

const Table& top_table();
const Table& model_table();
const Table& embedding_table();
const Table& encoder_table();
const Table& encoder_embedding_table();
const Table& block_table();
const Table& layer_table();
const Table& head_table();
const Table& run_table();
const Table& input_table();   // of x
const Table& memory_table();  // of the memory, within the input
const Table& document_ids_table();
const Table& random_table();
std::vector<const Table*> all_tables();

}  // namespace headwright::bind

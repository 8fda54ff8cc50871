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

/// Heads of attention, as a model, its encoder and a block may give them.
struct HeadSizes {
  std::optional<std::int64_t> n_heads, n_kv_heads, d_head;

  static constexpr auto rows() {
    return std::tuple{
        field("n_heads", &HeadSizes::n_heads,
              "attention heads; absent = those of the section around it, 1 in the model", at_least(1)),
        field("n_kv_heads", &HeadSizes::n_kv_heads,
              "heads of keys and values, 1 = multi-query; absent = n_heads where this section gives it, else those of "
              "the section around it",
              at_least(1)),
        field("d_head", &HeadSizes::d_head,
              "width of a head; absent = that of the section around it, or d_model / n_heads", at_least(1)),
    };
  }
};

/// What stands around the blocks of a model and of its encoder.
struct StackKeys : HeadSizes {
  std::optional<std::int64_t> context_length;
  Component embedding, final_norm;

  static constexpr auto rows() {
    return std::tuple_cat(
        HeadSizes::rows(),
        std::tuple{
            field("context_length", &StackKeys::context_length,
                  "longest sequence, in tokens; absent = without a limit, in an encoder that of the model",
                  at_least(1)),
            field("embedding", &StackKeys::embedding, "stem: input to features; absent = features come in",
                  component_of(Kind::embedding, "token_embedding")),
            field("final_norm", &StackKeys::final_norm, "norm after the last layer", component_of(Kind::norm)),
        });
  }
};

struct ModelKeys : StackKeys {
  std::int64_t d_model = 0;
  std::optional<std::int64_t> d_memory;
  Component head;

  static constexpr auto fields() {
    return std::tuple_cat(std::tuple{field("d_model", &ModelKeys::d_model, "width of the features between layers",
                                           required() | at_least(1))},
                          StackKeys::rows(),
                          std::tuple{
                              field("d_memory", &ModelKeys::d_memory,
                                    "width of the memory that cross-attention reads; absent = d_model", at_least(1)),
                              field("head", &ModelKeys::head, "features to the output; absent = features come out",
                                    component_of(Kind::head, "linear_head")),
                          });
  }
};

struct EncoderKeys : StackKeys {
  std::optional<std::int64_t> d_model;

  static constexpr auto fields() {
    return std::tuple_cat(
        std::tuple{field("d_model", &EncoderKeys::d_model,
                         "width of the features between layers; absent = model.d_model", at_least(1))},
        StackKeys::rows());
  }
};

struct PositionsKeys {
  std::string count = "all", restart = "never";

  static constexpr auto fields() {
    return std::tuple{
        field("count", &PositionsKeys::count,
              "tokens that are counted: all, or those that the key mask shows, so that padding on the left shifts "
              "nothing",
              one_of("all", "visible")),
        field("restart", &PositionsKeys::restart, "where counting starts again from 0", one_of("never", "document")),
    };
  }
};

/// The components that a sublayer may be, of which a block has one each and an entry of `sublayers` exactly one.
struct SlotKeys {
  Component attention, cross_attention, feed_forward;

  static constexpr auto rows() {
    return std::tuple{
        field("attention", &SlotKeys::attention, "mixes tokens", component_of(Kind::attention)),
        field("cross_attention", &SlotKeys::cross_attention,
              "reads the memory, between attention and feed_forward; a variant's `cross` is true here",
              component_of(Kind::attention)),
        field("feed_forward", &SlotKeys::feed_forward, "works on each token alone", component_of(Kind::feed_forward)),
    };
  }
};

struct BlockKeys : HeadSizes, SlotKeys {
  std::string order = "pre_norm";
  Component norm;
  double dropout = 0;
  std::optional<std::string> kernel;

  static constexpr auto fields() {
    return std::tuple_cat(
        std::tuple{
            field("order", &BlockKeys::order, "where the norms and residuals stand; plain = neither",
                  one_of("pre_norm", "post_norm", "parallel", "plain")),
            field("norm", &BlockKeys::norm, "norm of each sublayer", component_of(Kind::norm)),
        },
        SlotKeys::rows(),
        std::tuple{
            field("dropout", &BlockKeys::dropout, "probability of dropping an element before a residual, in training",
                  probability()),
            field("kernel", &BlockKeys::kernel, "attention kernel of this block; absent = run.kernel"),
        },
        HeadSizes::rows());
  }
};

/// One entry of a block's long form.
struct SublayerKeys : SlotKeys {
  std::optional<std::string> name, shared_norm;
  Component norm, output_norm, residual_norm;
  std::string input = "previous";
  bool residual = true;
  double residual_scale = 1, dropout = 0;

  static constexpr auto fields() {
    return std::tuple_cat(
        std::tuple{field("name", &SublayerKeys::name, "of its module; absent = the key of its component")},
        SlotKeys::rows(),
        std::tuple{
            field("norm", &SublayerKeys::norm, "norm of what goes in", component_of(Kind::norm)),
            field("shared_norm", &SublayerKeys::shared_norm,
                  "an earlier sublayer whose normalised input this one reads too, in place of a norm of its own"),
            field("output_norm", &SublayerKeys::output_norm, "norm of what comes out, before it joins the residual",
                  component_of(Kind::norm)),
            field("residual_norm", &SublayerKeys::residual_norm, "norm after the residual", component_of(Kind::norm)),
            field("input", &SublayerKeys::input, "what it reads: what came before it, or the block's own input",
                  one_of("previous", "block")),
            field("residual", &SublayerKeys::residual, "add what comes out to what came before"),
            field("residual_scale", &SublayerKeys::residual_scale, "factor on what is added to the residual"),
            field("dropout", &SublayerKeys::dropout,
                  "probability of dropping an element before the residual, in training", probability()),
        });
  }
};

inline constexpr std::int64_t kMostLayers = 10000;

struct LayerKeys {
  std::optional<std::string> use;
  std::optional<std::vector<std::string>> pattern;
  std::int64_t repeat = 1;
  bool shared = false;

  static constexpr auto fields() {
    return std::tuple{
        field("use", &LayerKeys::use, "name of a block under model.blocks"),
        field("pattern", &LayerKeys::pattern, "names of blocks, one layer each"),
        field("repeat", &LayerKeys::repeat, "how often the block or the pattern is repeated", between(1, kMostLayers)),
        field("shared", &LayerKeys::shared, "let every repetition be the same module with the same weights"),
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
const Table& encoder_table();
const Table& positions_table();
const Table& sublayer_table();
const Table& block_table();
const Table& layer_table();
const Table& run_table();
const Table& input_table();   // of x
const Table& memory_table();  // of the memory, within the input
const Table& ids_table();     // of document_ids, positions and token_types, within the input
const Table& random_table();
std::vector<const Table*> all_tables();

}  // namespace headwright::bind

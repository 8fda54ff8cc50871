// What the framework knows of a variant: its rows, what it claims, how it is made. Includes no torch header.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "headwright/params.h"

namespace torch::nn {
class Module;
}

namespace headwright {

/// Widths (d_*) and counts (n_*) that a model hands to its components.
struct Dims {
  std::int64_t d_model = 0;
  std::int64_t n_heads = 1;
  std::int64_t n_kv_heads = 1;
  std::int64_t d_head = 0;          // d_model / n_heads unless the config says otherwise
  std::int64_t context_length = 0;  // longest sequence; 0 = the config sets none
  std::int64_t d_memory = 0;        // width of the memory of cross-attention
  std::int64_t layer = 0;           // index of this layer
  std::int64_t n_layers = 1;
  std::string kernel = "auto";  // the attention kernel that the config asks for
  std::int64_t vocab_size = 0;  // of the model's embedding, where one was built before; 0 = none
};

/// Sizes of Dims, besides d_model, that change what a variant computes. A config that gives one which nothing in its
/// place reads is refused.
struct Sizes {
  bool n_heads = false, n_kv_heads = false, d_head = false, d_memory = false;
};

/// What an embedding takes.
enum class Takes { tokens, features, images, nothing };

/// The width of a head: as given, or an equal share of d_model.
constexpr std::int64_t d_head_of(const Dims& dims) {
  return dims.d_head > 0 || dims.n_heads < 1 ? dims.d_head : dims.d_model / dims.n_heads;
}

/// What a variant promises for given dims and params. The conformance kit asks for exactly this.
struct Claims {
  bool causal = false;                   // no output depends on a later token
  bool memory = false;                   // needs inputs.memory: cross-attention
  bool key_mask = false;                 // honours key_mask (or memory_mask, with a memory)
  bool differentiable = true;            // gradients reach inputs and every parameter
  bool dynamic_export = true;            // the exported form takes any batch size and length
  bool core = false;                     // computed by the attention core, so a kernel can be chosen
  bool embed = false;                    // position: adds to embeddings
  bool rotate = false;                   // position: rotates q and k
  bool bias = false;                     // position: changes scores
  std::int64_t d_out = 0;                // width of the output; 0 = d_model
  std::string cost;                      // "O(seq^2 d_model)"
  bool cache = false;                    // continues a sequence from inputs.cache
  bool document_ids = false;             // honours inputs.document_ids
  bool positions = false;                // follows inputs.positions
  Sizes reads;                           // sizes that it reads
  Takes takes = Takes::tokens;           // embedding: what inputs.x is
  std::vector<std::int64_t> item_shape;  // embedding: of a feature vector (d_in), of an image (channels, height, width)
  std::int64_t vocab_size = 0;           // embedding: number of token ids
  std::int64_t n_token_types = 0;        // embedding: kinds of tokens that inputs.token_types tells apart; 0 = none
  bool matrix = false;                   // embedding: has a (vocab_size, d_model) matrix that others may share
  bool tied = false;                     // embedding, head: shares the matrix of the model's embedding
  bool pools = false;                    // head: one vector for each sequence, (batch, d_out)
  bool by_length = false;                // position: what a token gets depends on the tokens after it, so no cache can
                                         // hold it
};

/// A claim that holds or does not, as it is printed, exported and asked for: declared once.
struct ClaimRow {
  const char* name;    // as in --json
  const char* phrase;  // for a reader: said where it holds
  bool Claims::* member;
  bool said_if_false = false;  // the phrase tells of the claim's absence
};
HEADWRIGHT_API const std::vector<ClaimRow>& claim_rows();

/// Collects what `check` finds. `name` is a parameter of the variant, "position.theta" of a component in one, or a
/// member of Dims.
class HEADWRIGHT_API Issues {
 public:
  struct Item {
    std::string name, message;
  };
  void add(std::string name, std::string message) { items_.push_back({std::move(name), std::move(message)}); }
  const std::vector<Item>& items() const { return items_; }

 private:
  std::vector<Item> items_;
};

/// A variant with its types erased.
struct VariantSpec {
  std::string name;
  Kind kind = Kind::attention;
  std::string summary;  // one line
  std::string source;   // paper and section
  std::vector<ParamSpec> params;
  std::function<Claims(const Dims&, const ParamMap&)> claims;
  std::function<void(const Dims&, const ParamMap&, Issues&)> check;
  std::function<std::shared_ptr<torch::nn::Module>(const Dims&, const ParamMap&)> make;
  /// What is computed with where an optional parameter is absent. A config may write the same.
  std::function<ParamMap(const Dims&, const ParamMap&)> effective;
};

/// Asks the component that a parameter `row` names about its own values: what it says of its parameter `theta` is
/// reported at "ROW.theta", what it says of sizes at the sizes.
HEADWRIGHT_API void check_nested(const Component& component, const Dims& dims, std::string_view row, Issues& issues);

}  // namespace headwright

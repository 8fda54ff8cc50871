// Which keys a query may see. One polarity everywhere: true = visible.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "headwright/errors.h"

namespace at {
class Tensor;
}

namespace headwright {

class MaskNode;   // one kind of mask; lives in framework/src/core
struct MaskForm;  // how a config writes a mask; in mask_kinds.h

/// What a mask may ask when it is evaluated.
struct MaskInputs;

/// What a mask shows within a rectangle of queries and keys.
enum class Tile { empty, full, partial };

/// A rectangle by position, ends excluded. Key j stands at position j; query i at i + k_len - q_len.
struct TileRange {
  std::int64_t q_begin = 0, q_end = 0, k_begin = 0, k_end = 0;
  std::int64_t k_len = 0;  // of all keys
};

/// An immutable, cheaply copied description of a mask. Queries are aligned to the end of the keys: the last query and
/// the last key are the same token whatever the two lengths are, so that a mask means the same with a cache.
class HEADWRIGHT_API Mask {
 public:
  Mask();  ///< everything is visible
  explicit Mask(std::shared_ptr<const MaskNode> node);

  // Throw Error for a number below 1 (band: below 0; a global, prefix or random mask names it).
  static Mask causal();                   ///< a query sees itself and what came before
  static Mask window(std::int64_t size);  ///< the last `size` keys, itself included; >= 1
  /// From `left` keys before a query to `right` keys after it; absent = without a bound. causal() is band({}, 0).
  static Mask band(std::optional<std::int64_t> left, std::optional<std::int64_t> right);
  static Mask dilated(std::int64_t size, std::int64_t dilation);  ///< `size` keys, `dilation` apart, itself the last
  static Mask strided(std::int64_t stride);    ///< the keys at a distance that `stride` divides, in both directions
  static Mask block_local(std::int64_t size);  ///< the keys of the query's own block of `size` positions
  static Mask global(std::int64_t n_tokens);   ///< the first `n_tokens` see every key and are seen by every query
  static Mask prefix(std::int64_t length);     ///< the first `length` keys
  static Mask document();                      ///< the keys with the query's document id; all without ids
  static Mask key_padding();                   ///< the keys that the run-time key mask marks; all without one
  /// `n_blocks` blocks of `block_size` keys for each block of queries, drawn from `seed` over all keys.
  static Mask random(std::int64_t n_blocks, std::int64_t block_size, std::int64_t seed);
  static Mask all(std::vector<Mask> parts);  ///< visible in every part
  static Mask any(std::vector<Mask> parts);  ///< visible in at least one part
  static Mask negation(Mask part);           ///< visible where `part` is not

  bool sees_everything() const;  ///< no mask at all
  bool is_causal() const;        ///< exactly causal(): a kernel may use its own fast path
  bool hides_future() const;     ///< proved from the structure: no key after the query is ever visible
  bool is_sparse() const;        ///< proved from the structure: a query sees few keys, however long the sequence is
  bool reads_documents() const;  ///< what is visible depends on Scoring::document_ids
  /// Proved from the structure: no key further back than this is ever visible, and what is visible depends on
  /// distances alone, so that older keys need not be kept. Nothing if that cannot be proved.
  std::optional<std::int64_t> look_back() const;
  bool reads_length() const;  ///< what a query sees depends on how many keys there are, so it changes as a cache grows

  /// Proved from the structure and the positions; partial where that is not enough.
  Tile tile(const TileRange& range) const;

  /// Bool, broadcastable to (batch, n_heads, q_len, k_len). Undefined if sees_everything().
  at::Tensor visible(const MaskInputs& inputs) const;

  /// As one would write it: "all(causal, window(128))".
  std::string to_string() const;

  /// As a config writes it: the name of its kind, and what the kind is given.
  MaskForm form() const;

 private:
  std::shared_ptr<const MaskNode> node_;  // null = sees everything
};

}  // namespace headwright

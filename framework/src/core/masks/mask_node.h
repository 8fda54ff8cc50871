// One kind of mask: what Mask points at. A new kind is a file beside this one and a row at the end.
#pragma once
#include <ATen/core/Tensor.h>

#include <limits>
#include <optional>
#include <string>

#include "headwright/mask.h"
#include "headwright/mask_kinds.h"

namespace headwright {

/// What a mask may ask when it is evaluated, for all pairs or for those of a tile. Key j stands at position j, query i
/// at i + k_len - q_len.
struct MaskInputs {
  at::Tensor q_positions;  // (q_len, 1) int64
  at::Tensor k_positions;  // (1, k_len) int64
  at::Tensor key_mask;     // (batch, 1, 1, k_len) bool, true = visible; undefined = none
  at::Tensor q_documents;  // (batch, 1, q_len, 1) int64; undefined = one document
  at::Tensor k_documents;  // (batch, 1, 1, k_len) int64
  at::Tensor all_keys;     // (all keys) int64: 0, 1, 2, ..., also where k_positions are those of a tile
};

inline constexpr std::int64_t kWithoutBound = std::numeric_limits<std::int64_t>::max();

class MaskNode {
 public:
  virtual ~MaskNode();

  /// Bool, broadcastable to (batch, n_heads, q_len, k_len); undefined = everything is visible.
  virtual at::Tensor visible(const MaskInputs& inputs) const = 0;

  /// How a config writes it.
  virtual MaskForm form() const = 0;

  /// What is proved of every pair in the range.
  virtual Tile tile(const TileRange&) const { return Tile::partial; }

  /// Proved from the structure, for any input: no key after the query is visible; every key after it is.
  virtual bool hides_future() const { return false; }
  virtual bool shows_future() const { return false; }

  /// Proved from the structure: most tiles of a long sequence are empty; most are full.
  virtual bool is_sparse() const { return false; }
  virtual bool is_dense() const { return false; }

  /// Proved from the structure: the distance of the furthest key before a query that can be visible, kWithoutBound for
  /// any; nothing where more than the distance decides, such as the place in the sequence.
  virtual std::optional<std::int64_t> look_back() const { return {}; }

  /// Exactly the causal mask.
  virtual bool is_causal() const { return false; }

  /// What is visible depends on the documents; on the number of keys.
  virtual bool reads_documents() const { return false; }
  virtual bool reads_length() const { return false; }
};

}  // namespace headwright

namespace headwright::core {

/// "window(128)": a kind, and what it is given.
std::string call_text(const std::string& kind, const ParamMap& values, const std::vector<Mask>& parts = {});

/// A kind without rows.
struct NoParams {
  static constexpr auto fields() { return std::tuple{}; }
};

/// Throws Error "[mask] window: got size = 0, expected at least 1".
void expect_at_least_one(const char* mask, const char* name, std::int64_t number);

/// What a config can name, beside `full`, all, any and not. A new kind is a file that defines NAME_kind(), and a row
/// here.
#define HEADWRIGHT_MASK_KINDS(ROW) \
  ROW(causal)                      \
  ROW(window)                      \
  ROW(band)                        \
  ROW(dilated)                     \
  ROW(strided)                     \
  ROW(block_local)                 \
  ROW(global)                      \
  ROW(prefix)                      \
  ROW(document)                    \
  ROW(key_padding)                 \
  ROW(random)

#define HEADWRIGHT_DECLARE(name) MaskKind name##_kind();
HEADWRIGHT_MASK_KINDS(HEADWRIGHT_DECLARE)
#undef HEADWRIGHT_DECLARE

}  // namespace headwright::core

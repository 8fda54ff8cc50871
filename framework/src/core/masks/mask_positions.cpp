// Masks by where tokens stand in the sequence: blocks, a prefix, tokens that see and are seen by all.
// Source: global, Beltagy et al. 2020, arXiv:2004.05150, section 3.1; prefix, Raffel et al. 2020, arXiv:1910.10683,
// section 3.2.1.
#include <ATen/ATen.h>

#include "core/masks/mask_node.h"

namespace headwright {
namespace {

class BlockLocal final : public MaskNode {
 public:
  explicit BlockLocal(std::int64_t size) : size_(size) {}

  at::Tensor visible(const MaskInputs& inputs) const override {
    return inputs.q_positions.floor_divide(size_).eq(inputs.k_positions.floor_divide(size_));
  }
  MaskForm form() const override { return {"block_local", {{"size", {size_}}}}; }

  Tile tile(const TileRange& range) const override {
    const auto block = [&](std::int64_t position) {  // a query before the first key stands in a negative block
      return position >= 0 ? position / size_ : -((-position - 1) / size_ + 1);
    };
    const auto first_q = block(range.q_begin), last_q = block(range.q_end - 1);
    const auto first_k = block(range.k_begin), last_k = block(range.k_end - 1);
    if (last_q < first_k || last_k < first_q) return Tile::empty;
    return first_q == last_k && last_q == first_k ? Tile::full : Tile::partial;
  }
  bool is_sparse() const override { return true; }

 private:
  const std::int64_t size_;
};

class Prefix final : public MaskNode {
 public:
  explicit Prefix(std::int64_t length) : length_(length) {}

  at::Tensor visible(const MaskInputs& inputs) const override { return inputs.k_positions < length_; }
  MaskForm form() const override { return {"prefix", {{"length", {length_}}}}; }
  Tile tile(const TileRange& range) const override {
    if (range.k_begin >= length_) return Tile::empty;
    return range.k_end <= length_ ? Tile::full : Tile::partial;
  }
  bool is_sparse() const override { return true; }

 private:
  const std::int64_t length_;
};

class Global final : public MaskNode {
 public:
  explicit Global(std::int64_t n_tokens) : n_tokens_(n_tokens) {}

  at::Tensor visible(const MaskInputs& inputs) const override {
    return (inputs.k_positions < n_tokens_).logical_or(inputs.q_positions < n_tokens_);
  }
  MaskForm form() const override { return {"global", {{"n_tokens", {n_tokens_}}}}; }
  Tile tile(const TileRange& range) const override {
    if (range.k_end <= n_tokens_ || range.q_end <= n_tokens_) return Tile::full;
    return range.k_begin >= n_tokens_ && range.q_begin >= n_tokens_ ? Tile::empty : Tile::partial;
  }
  bool is_sparse() const override { return true; }

 private:
  const std::int64_t n_tokens_;
};

struct BlockLocalParams {
  std::int64_t size = 1;
  static constexpr auto fields() {
    return std::tuple{field("size", &BlockLocalParams::size, "positions in a block; 1 = a query sees itself only",
                            at_least(1) | required())};
  }
};

struct PrefixParams {
  std::int64_t length = 1;
  static constexpr auto fields() {
    return std::tuple{
        field("length", &PrefixParams::length, "keys that every query sees, from the first", at_least(1) | required())};
  }
};

struct GlobalParams {
  std::int64_t n_tokens = 1;
  static constexpr auto fields() {
    return std::tuple{field("n_tokens", &GlobalParams::n_tokens,
                            "tokens, from the first, that see every key and are seen by every query",
                            at_least(1) | required())};
  }
};

template <class Node>
Mask made(const char* mask, const char* name, std::int64_t number) {
  core::expect_at_least_one(mask, name, number);
  return Mask(std::make_shared<Node>(number));
}

}  // namespace

Mask Mask::block_local(std::int64_t size) { return made<BlockLocal>("block_local", "size", size); }
Mask Mask::prefix(std::int64_t length) { return made<Prefix>("prefix", "length", length); }
Mask Mask::global(std::int64_t n_tokens) { return made<Global>("global", "n_tokens", n_tokens); }

MaskKind core::block_local_kind() {
  return {"block_local", "a query sees the keys of its own block", specs_of<BlockLocalParams>(),
          [](const ParamMap& values) { return Mask::block_local(params_from<BlockLocalParams>(values).size); }};
}

MaskKind core::prefix_kind() {
  return {"prefix", "every query sees the first `length` keys, and no other", specs_of<PrefixParams>(),
          [](const ParamMap& values) { return Mask::prefix(params_from<PrefixParams>(values).length); }};
}

MaskKind core::global_kind() {
  return {"global", "the first `n_tokens` see every key and are seen by every query", specs_of<GlobalParams>(),
          [](const ParamMap& values) { return Mask::global(params_from<GlobalParams>(values).n_tokens); }};
}

}  // namespace headwright

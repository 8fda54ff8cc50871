// Random blocks: each block of queries sees a few blocks of keys, drawn once from a seed.
// Source: Zaheer et al. 2020, arXiv:2007.14062 (BigBird), section 2.
#include <ATen/ATen.h>

#include <algorithm>

#include "core/mask_node.h"

namespace headwright {
namespace {

constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15ULL, kFirst = 0xbf58476d1ce4e5b9ULL,
                        kSecond = 0x94d049bb133111ebULL;

/// A number that looks random for each block and seed: the finaliser of splitmix64, in wrapping int64 arithmetic.
at::Tensor hashed(at::Tensor x) {
  const auto shifted = [](const at::Tensor& t, std::int64_t bits) {  // logical, not arithmetic
    return t.__rshift__(bits).bitwise_and((std::int64_t{1} << (64 - bits)) - 1);
  };
  x = x.bitwise_xor(shifted(x, 30)) * static_cast<std::int64_t>(kFirst);
  x = x.bitwise_xor(shifted(x, 27)) * static_cast<std::int64_t>(kSecond);
  return x.bitwise_xor(shifted(x, 31));
}

/// The same for one number.
std::uint64_t hashed(std::uint64_t x) {
  x = (x ^ (x >> 30)) * kFirst;
  x = (x ^ (x >> 27)) * kSecond;
  return x ^ (x >> 31);
}

class Random final : public MaskNode {
 public:
  Random(std::int64_t n_blocks, std::int64_t block_size, std::int64_t seed)
      : n_blocks_(n_blocks), block_size_(block_size), seed_(seed) {}

  at::Tensor visible(const MaskInputs& inputs) const override {
    if (inputs.all_keys.numel() == 0) return inputs.q_positions.eq(inputs.k_positions);
    const auto q_blocks = inputs.q_positions.floor_divide(block_size_);  // (q_len, 1)
    const auto k_blocks = inputs.k_positions.floor_divide(block_size_);  // (1, k_len)
    const auto all_blocks = inputs.all_keys.slice(0, 0, std::nullopt, block_size_).floor_divide(block_size_);
    // The blocks with the lowest numbers of a query's row are drawn; fewer where there are fewer.
    const auto row = std::get<0>(drawn(q_blocks, all_blocks.unsqueeze(0)).sort(-1));  // (q_len, blocks)
    const auto highest = std::get<0>(row.slice(-1, 0, n_blocks_).max(-1, true));      // (q_len, 1)
    return drawn(q_blocks, k_blocks) <= highest;
  }
  std::string to_string() const override {
    return "random(" + std::to_string(n_blocks_) + ", " + std::to_string(block_size_) + ", " + std::to_string(seed_) +
           ")";
  }
  Tile tile(const TileRange& range) const override {
    if (range.q_begin < 0 || range.k_len == 0) return Tile::partial;
    bool any = false, every = true;
    const auto first = range.k_begin / block_size_, last = (range.k_end - 1) / block_size_;
    for (auto q = range.q_begin / block_size_; q <= (range.q_end - 1) / block_size_; ++q) {
      const auto blocks = chosen(q, (range.k_len + block_size_ - 1) / block_size_);
      const auto seen = std::ranges::count_if(blocks, [&](std::int64_t b) { return b >= first && b <= last; });
      any |= seen > 0;
      every &= seen == last - first + 1;
    }
    if (!any) return Tile::empty;
    return every ? Tile::full : Tile::partial;
  }
  bool is_sparse() const override { return block_size_ >= 64; }  // smaller ones touch every tile
  bool reads_length() const override { return true; }

 private:
  at::Tensor drawn(const at::Tensor& q_blocks, const at::Tensor& k_blocks) const {
    constexpr auto golden = static_cast<std::int64_t>(kGolden);
    return hashed(hashed(q_blocks * golden + seed_) + k_blocks * golden);
  }

  /// The blocks of keys that a block of queries sees, in ascending order.
  std::vector<std::int64_t> chosen(std::int64_t q_block, std::int64_t n_key_blocks) const {
    std::vector<std::pair<std::int64_t, std::int64_t>> row;  // number drawn, block
    const auto base = hashed(static_cast<std::uint64_t>(q_block) * kGolden + static_cast<std::uint64_t>(seed_));
    for (std::int64_t block = 0; block < n_key_blocks; ++block) {
      row.emplace_back(static_cast<std::int64_t>(hashed(base + static_cast<std::uint64_t>(block) * kGolden)), block);
    }
    const auto count = std::min<std::int64_t>(n_blocks_, n_key_blocks);
    std::ranges::nth_element(row, row.begin() + (count - 1));
    std::vector<std::int64_t> blocks;
    for (std::int64_t i = 0; i < count; ++i) blocks.push_back(row[static_cast<std::size_t>(i)].second);
    std::ranges::sort(blocks);
    return blocks;
  }

  const std::int64_t n_blocks_, block_size_, seed_;
};

struct Params {
  std::int64_t n_blocks = 1, block_size = 64, seed = 0;
  static constexpr auto fields() {
    return std::tuple{
        field("n_blocks", &Params::n_blocks, "blocks of keys drawn for each block of queries",
              at_least(1) | required()),
        field("block_size", &Params::block_size, "positions in a block", at_least(1)),
        field("seed", &Params::seed, "of the draw", at_least(0)),
    };
  }
};

}  // namespace

Mask Mask::random(std::int64_t n_blocks, std::int64_t block_size, std::int64_t seed) {
  if (n_blocks < 1 || block_size < 1) {
    throw Error("[mask] random: got n_blocks = " + std::to_string(n_blocks) +
                ", block_size = " + std::to_string(block_size) + ", expected at least 1 of both");
  }
  return Mask(std::make_shared<Random>(n_blocks, block_size, seed));
}

MaskKind core::random_kind() {
  return {"random",
          "each block of queries sees `n_blocks` blocks of keys, drawn over all keys, padding too, from `seed`",
          specs_of<Params>(), [](const ParamMap& values) {
            const auto params = params_from<Params>(values);
            return Mask::random(params.n_blocks, params.block_size, params.seed);
          }};
}

}  // namespace headwright

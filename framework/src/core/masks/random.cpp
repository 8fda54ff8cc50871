// Random blocks: each block of queries sees a few blocks of keys, drawn once from a seed.
// Source: Zaheer et al. 2020, arXiv:2007.14062 (BigBird), section 2.
#include <ATen/ATen.h>
#include <torch/csrc/jit/frontend/tracer.h>

#include <algorithm>
#include <limits>
#include <mutex>
#include <unordered_map>

#include "core/masks/mask_node.h"

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
    if (!torch::jit::tracer::isTracing() && shows_all(inputs.all_keys.size(0))) return inputs.k_positions.ge(0);
    // Queries of one block share a row, of which the blocks with the lowest numbers are seen.
    const auto [rows, row_of, counts] = at::unique_consecutive(q_blocks.flatten(), /*return_inverse=*/true);
    const auto highest = torch::jit::tracer::isTracing() ? highest_in_trace(rows, inputs.all_keys)
                                                         : highest_seen(rows, inputs.all_keys.size(0));
    return drawn(q_blocks, k_blocks) <= highest.index_select(0, row_of);
  }
  MaskForm form() const override {
    return {"random", {{"n_blocks", {n_blocks_}}, {"block_size", {block_size_}}, {"seed", {seed_}}}};
  }
  Tile tile(const TileRange& range) const override {
    if (range.q_begin < 0 || range.k_len == 0) return Tile::partial;
    if (shows_all(range.k_len)) return Tile::full;
    bool any = false, every = true;
    const auto first = range.k_begin / block_size_, last = (range.k_end - 1) / block_size_;
    for (auto q = range.q_begin / block_size_; q <= (range.q_end - 1) / block_size_; ++q) {
      const auto blocks = row(q, range.k_len).blocks;
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

  bool shows_all(std::int64_t k_len) const { return n_blocks_ >= (k_len - 1) / block_size_ + 1; }

  /// What a block of queries sees.
  struct Row {
    std::vector<std::int64_t> blocks;  // in ascending order
    std::int64_t highest = 0;          // of the numbers that were drawn for them
  };

  Row drawn_row(std::int64_t q_block, std::int64_t n_key_blocks) const {
    std::vector<std::pair<std::int64_t, std::int64_t>> all;  // number drawn, block
    const auto base = hashed(static_cast<std::uint64_t>(q_block) * kGolden + static_cast<std::uint64_t>(seed_));
    for (std::int64_t block = 0; block < n_key_blocks; ++block) {
      all.emplace_back(static_cast<std::int64_t>(hashed(base + static_cast<std::uint64_t>(block) * kGolden)), block);
    }
    const auto last = all.begin() + (std::min<std::int64_t>(n_blocks_, n_key_blocks) - 1);
    std::ranges::nth_element(all, last);
    Row row{.highest = last->first};
    for (auto one = all.begin(); one <= last; ++one) row.blocks.push_back(one->second);
    std::ranges::sort(row.blocks);
    return row;
  }

  /// Each row is drawn once for a number of keys: a plan asks for it once for each of its tiles.
  Row row(std::int64_t q_block, std::int64_t k_len) const {
    const auto n_key_blocks = (k_len - 1) / block_size_ + 1;
    const std::lock_guard lock(mutex_);
    if (n_key_blocks != of_key_blocks_) rows_.clear();
    of_key_blocks_ = n_key_blocks;
    const auto [found, fresh] = rows_.try_emplace(q_block);
    if (fresh) found->second = drawn_row(q_block, n_key_blocks);
    return found->second;
  }

  /// rows: (rows) blocks of queries. Returns (rows, 1).
  at::Tensor highest_seen(const at::Tensor& rows, std::int64_t k_len) const {
    const auto q_blocks = rows.cpu();
    std::vector<std::int64_t> numbers;
    for (std::int64_t i = 0; i < q_blocks.size(0); ++i) {
      numbers.push_back(row(q_blocks.const_data_ptr<std::int64_t>()[i], k_len).highest);
    }
    return at::tensor(numbers, at::kLong).unsqueeze(-1).to(rows.device());
  }

  /// The same for any number of keys.
  at::Tensor highest_in_trace(const at::Tensor& rows, const at::Tensor& all_keys) const {
    constexpr auto kMany = std::int64_t{1} << 40;  // no sequence is as long
    const auto all_blocks = all_keys.slice(0, 0, std::nullopt, std::min(block_size_, kMany)).floor_divide(block_size_);
    const auto row = std::get<0>(drawn(rows.unsqueeze(-1), all_blocks.unsqueeze(0)).sort(-1));  // (rows, blocks)
    // Where there are fewer, and where there are none, all are seen.
    const auto and_all = at::constant_pad_nd(row, {0, 1}, std::numeric_limits<std::int64_t>::max());
    return std::get<0>(and_all.slice(-1, 0, n_blocks_).max(-1, true));
  }

  const std::int64_t n_blocks_, block_size_, seed_;
  mutable std::mutex mutex_;
  mutable std::int64_t of_key_blocks_ = 0;
  mutable std::unordered_map<std::int64_t, Row> rows_;  // by block of queries
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

// What the core is asked for, and what loops over doubles should make of it.
#pragma once
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "headwright/attend.h"
#include "reference/attend_reference.h"

namespace headwright {

/// A query and a key, by position from the first key on.
struct Pair {
  long i, j, k_len;
  bool unpadded = true;       // the key mask shows the key
  bool same_document = true;  // both have one document id
};

struct MaskCase {
  std::string name;
  Mask mask;
  std::function<bool(const Pair&)> sees;
};

/// The blocks that random(n_blocks, block_size, seed) draws for a query: written from its definition alone, with the
/// finaliser of splitmix64.
inline bool drawn(const Pair& p, long n_blocks, long block_size, std::uint64_t seed) {
  const auto hash = [](std::uint64_t x) {
    x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 27U)) * 0x94d049bb133111ebULL;
    return x ^ (x >> 31U);
  };
  constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15ULL;
  const long q_block = p.i >= 0 ? p.i / block_size : -((-p.i + block_size - 1) / block_size);
  const auto base = hash(static_cast<std::uint64_t>(q_block) * kGolden + seed);
  std::vector<std::pair<long, long>> row;
  for (long block = 0; block * block_size < p.k_len; ++block) {
    row.emplace_back(static_cast<long>(hash(base + static_cast<std::uint64_t>(block) * kGolden)), block);
  }
  std::ranges::sort(row);
  for (std::size_t n = 0; n < std::min(row.size(), static_cast<std::size_t>(n_blocks)); ++n) {
    if (row[n].second == p.j / block_size) return true;
  }
  return false;
}

/// Every kind of mask, and combinations of them.
inline std::vector<MaskCase> mask_cases() {
  const auto floor_block = [](long x, long size) { return x >= 0 ? x / size : -((-x + size - 1) / size); };
  return {
      {"full", Mask(), [](const Pair&) { return true; }},
      {"causal", Mask::causal(), [](const Pair& p) { return p.j <= p.i; }},
      {"window1", Mask::window(1), [](const Pair& p) { return p.i == p.j; }},
      {"window3", Mask::window(3), [](const Pair& p) { return p.j <= p.i && p.i - p.j < 3; }},
      {"band", Mask::band(2, 1), [](const Pair& p) { return p.i - p.j <= 2 && p.j - p.i <= 1; }},
      {"band_right", Mask::band({}, 2), [](const Pair& p) { return p.j - p.i <= 2; }},
      {"band_left", Mask::band(4, {}), [](const Pair& p) { return p.i - p.j <= 4; }},
      {"dilated", Mask::dilated(3, 2), [](const Pair& p) { return p.i == p.j || p.i - p.j == 2 || p.i - p.j == 4; }},
      {"strided", Mask::strided(3), [](const Pair& p) { return (p.i - p.j) % 3 == 0; }},
      {"block_local", Mask::block_local(4), [=](const Pair& p) { return floor_block(p.i, 4) == p.j / 4; }},
      {"global", Mask::global(2), [](const Pair& p) { return p.i < 2 || p.j < 2; }},
      {"prefix", Mask::prefix(3), [](const Pair& p) { return p.j < 3; }},
      {"document", Mask::document(), [](const Pair& p) { return p.same_document; }},
      {"padding", Mask::key_padding(), [](const Pair& p) { return p.unpadded; }},
      {"random", Mask::random(2, 3, 5), [](const Pair& p) { return drawn(p, 2, 3, 5); }},
      {"not_causal", Mask::negation(Mask::causal()), [](const Pair& p) { return p.j > p.i; }},
      {"not_full", Mask::negation(Mask()), [](const Pair&) { return false; }},
      {"not_padding", Mask::negation(Mask::key_padding()), [](const Pair& p) { return !p.unpadded; }},
      {"any_padding", Mask::any({Mask::key_padding(), Mask::window(1)}),
       [](const Pair& p) { return p.unpadded || p.i == p.j; }},
      {"all", Mask::all({Mask::causal(), Mask::window(3), Mask::key_padding()}),
       [](const Pair& p) { return p.j <= p.i && p.i - p.j < 3 && p.unpadded; }},
      {"any", Mask::any({Mask::window(1), Mask::negation(Mask::causal())}), [](const Pair& p) { return p.j >= p.i; }},
      {"longformer", Mask::any({Mask::band(2, 2), Mask::global(1)}),
       [](const Pair& p) { return std::abs(p.i - p.j) <= 2 || p.i < 1 || p.j < 1; }},
      {"sparse_transformer", Mask::all({Mask::causal(), Mask::any({Mask::window(3), Mask::strided(3)})}),
       [](const Pair& p) { return p.j <= p.i && (p.i - p.j < 3 || (p.i - p.j) % 3 == 0); }},
      {"prefix_lm", Mask::any({Mask::causal(), Mask::prefix(4)}), [](const Pair& p) { return p.j <= p.i || p.j < 4; }},
  };
}

struct Extents {
  long n_heads, n_kv_heads, q_len, k_len;
};
constexpr long kBatch = 2, kHead = 8;

/// The first row sees keys from its fourth from the end on; the second has every other key, or none (case 6).
inline at::Tensor padding(long k_len, bool second_row_empty) {
  auto mask = at::zeros({kBatch, k_len}, at::kBool);
  for (long j = 0; j < k_len; ++j) {
    mask[0][j] = j >= k_len - 4;
    mask[1][j] = !second_row_empty && j % 2 == 0;
  }
  return mask;
}

/// Documents of five tokens in the first row, of seven in the second.
inline at::Tensor documents(long k_len) {
  return at::stack({at::arange(k_len).floor_divide(5), at::arange(k_len).floor_divide(7)});
}

/// What the mask, the key mask and the documents of `scoring` show, by index.
inline std::function<bool(long, long, long)> seen_by(const MaskCase& mask, const Scoring& scoring,
                                                     const Extents& sizes) {
  const auto bools = scoring.key_mask, ids = scoring.document_ids;
  const auto k_len = sizes.k_len, shift = sizes.k_len - sizes.q_len;
  return [=, sees = mask.sees](long b, long i, long j) {
    const bool* shown = bools.defined() ? bools.data_ptr<bool>() : nullptr;
    const auto* id = ids.defined() ? ids.data_ptr<std::int64_t>() : nullptr;
    Pair pair{.i = i + shift, .j = j, .k_len = k_len};
    pair.unpadded = shown == nullptr || shown[b * k_len + j];
    pair.same_document = id == nullptr || id[b * k_len + pair.i] == id[b * k_len + j];
    return pair.unpadded && sees(pair);
  };
}

inline reference::Tensor4 to_reference(const at::Tensor& x) {
  const auto wide = x.detach().to(at::kDouble).contiguous();
  const auto full = wide.dim() == 3 ? wide.unsqueeze(-1) : wide;
  reference::Tensor4 out(full.size(0), full.size(1), full.size(2), full.size(3));
  out.data.assign(wide.data_ptr<double>(), wide.data_ptr<double>() + wide.numel());
  return out;
}

inline void expect_near(const at::Tensor& got, const std::vector<double>& expected, double tolerance,
                        const std::string& what) {
  const auto flat = got.detach().to(at::kDouble).contiguous();
  ASSERT_EQ(static_cast<std::size_t>(flat.numel()), expected.size()) << what;
  double worst = 0, largest = 1;  // errors are seen against the largest value: sums cancel
  for (const double b : expected) largest = std::isfinite(b) ? std::max(largest, std::abs(b)) : largest;
  for (long i = 0; i < flat.numel(); ++i) {
    const double a = flat.data_ptr<double>()[i], b = expected[static_cast<std::size_t>(i)];
    if (a == b) continue;  // infinities of one sign
    ASSERT_TRUE(std::isfinite(a)) << what << ": got " << a << ", expected " << b;
    worst = std::max(worst, std::abs(a - b) / largest);
  }
  EXPECT_LE(worst, tolerance) << what;
}

}  // namespace headwright

// Modifiers by how far a key is from its query: ALiBi and T5's relative bias.
#include <ATen/ATen.h>

#include <vector>

#include "core/modifiers/bucket_borders.h"
#include "headwright/attend.h"
#include "headwright/shapes.h"

namespace headwright {
namespace {

/// T5's bucket of each key's distance. Half of the buckets hold one distance each, the others ever longer ranges up to
/// max_distance. Keys after the query have buckets of their own, or share the first one.
class Buckets {
 public:
  Buckets(std::int64_t n_buckets, bool bidirectional, std::int64_t max_distance)
      : n_(bidirectional ? n_buckets / 2 : n_buckets),
        bidirectional_(bidirectional),
        borders_(core::far_borders(n_ / 2, n_ - n_ / 2, max_distance)) {}

  /// distance: query - key, so that a later key has a negative one.
  at::Tensor of(const at::Tensor& distance) const {
    const auto exact = n_ / 2;
    const auto far = bidirectional_ ? distance.abs() : distance.clamp_min(0);
    // Borders written as scalars: no constant of an export is tied to a device.
    const auto zero = distance.flatten().slice(0, 0, 1) * 0;
    std::vector<at::Tensor> borders{zero + exact};
    for (const auto border : borders_) borders.push_back(zero + border);
    const auto passed = at::bucketize(far, at::cat(borders), /*out_int32=*/false, /*right=*/true);
    const auto bucket = at::where(far < exact, far, passed + (exact - 1));
    return bidirectional_ ? bucket + distance.lt(0).to(at::kLong) * n_ : bucket;
  }

 private:
  std::int64_t n_;  // of one direction
  bool bidirectional_;
  std::vector<std::int64_t> borders_;
};

}  // namespace

ScoreModifier alibi(const at::Tensor& slopes) {
  if (slopes.dim() != 1) refuse_shape("alibi", "slopes", slopes, "(n_heads)");
  return modifier("alibi",
                  [slopes](const at::Tensor& scores, const ScorePositions& place) {
                    const auto distance = (place.q_positions - place.k_positions).abs();  // (q_len, k_len)
                    return scores - slopes.to(scores.dtype()).unsqueeze(-1).unsqueeze(-1) * distance;
                  },
                  {slopes});
}

ScoreModifier relative_bias(const at::Tensor& table, bool bidirectional, std::int64_t max_distance) {
  if (table.dim() != 2) refuse_shape("relative_bias", "table", table, "(n_buckets, n_heads)");
  const auto n_buckets = table.size(0), exact = (bidirectional ? n_buckets / 2 : n_buckets) / 2;
  if (exact < 1 || (bidirectional && n_buckets % 2 != 0)) {
    refuse_shape("relative_bias", "table", table,
                 bidirectional ? "an even number of at least 4 buckets" : "at least 2 buckets");
  }
  if (max_distance <= exact) {
    throw Error("[relative_bias] max_distance: got " + std::to_string(max_distance) + ", expected more than " +
                std::to_string(exact) + ", the distances that have a bucket each");
  }
  const Buckets buckets(n_buckets, bidirectional, max_distance);
  return modifier(
      "relative_bias",
      [=](const at::Tensor& scores, const ScorePositions& place) {
        const auto bucket = buckets.of(place.q_positions - place.k_positions);
        auto bias =
            at::embedding(wide(table), bucket).to(scores.dtype());  // (q_len, k_len, n_heads), or with batch and 1
        bias = bucket.dim() == 2 ? bias.permute({2, 0, 1}) : bias.select(1, 0).permute({0, 3, 1, 2});
        return scores + bias;
      },
      {table});
}

}  // namespace headwright

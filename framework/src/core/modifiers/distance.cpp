// Modifiers by how far a key is from its query: ALiBi and T5's relative bias.
#include <ATen/ATen.h>

#include <cmath>

#include "headwright/attend.h"
#include "headwright/shapes.h"

namespace headwright {
namespace {

/// T5's bucket of each key's distance. Half of the buckets hold one distance each, the others ever longer ranges up to
/// max_distance. Keys after the query have buckets of their own, or share the first one.
at::Tensor bucket_of(const at::Tensor& distance, std::int64_t n_buckets, bool bidirectional,
                     std::int64_t max_distance) {
  auto buckets = n_buckets;
  auto offset = at::zeros_like(distance);
  auto far = distance;  // query - key: negative = a later key
  if (bidirectional) {
    buckets /= 2;
    offset = distance.lt(0).to(at::kLong) * buckets;
    far = distance.abs();
  }
  far = far.clamp_min(0);
  const auto exact = buckets / 2;
  const double span = std::log(static_cast<double>(max_distance) / static_cast<double>(exact));
  const auto ratio = far.clamp_min(1).to(at::kFloat) / static_cast<double>(exact);
  const auto log_bucket = (ratio.log() * (static_cast<double>(buckets - exact) / span)).to(at::kLong) + exact;
  return offset + at::where(far < exact, far, log_bucket.clamp_max(buckets - 1));
}

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
  return modifier(
      "relative_bias",
      [=](const at::Tensor& scores, const ScorePositions& place) {
        const auto bucket = bucket_of(place.q_positions - place.k_positions, n_buckets, bidirectional, max_distance);
        auto bias =
            at::embedding(wide(table), bucket).to(scores.dtype());  // (q_len, k_len, n_heads), or with batch and 1
        bias = bucket.dim() == 2 ? bias.permute({2, 0, 1}) : bias.select(1, 0).permute({0, 3, 1, 2});
        return scores + bias;
      },
      {table});
}

}  // namespace headwright

// Relative biases: a learned number for each head and each class of distances is added to the scores. Near distances
// have a class each, far ones share classes that grow logarithmically.
//
//   s_ij <- s_ij + weight[bucket(j - i), h]
//   one direction, n buckets, r = i - j (0 for later keys), e = n / 2 rounded down: bucket = r for r < e,
//     else min(n - 1, e + floor((n - e) ln(r / e) / ln(max_distance / e))), borders decided in whole numbers
//   both directions: the same with half of the buckets each; those of later keys come second
//
// Source: Raffel et al. 2020, arXiv:1910.10683, section 2.1.
// Cost:   O(seq^2 n_heads).
#include "headwright/plugin.h"

namespace {

class RelativeBias final : public headwright::Position {
 public:
  static constexpr auto kSummary = "a learned bias for each head and class of distances";
  static constexpr auto kSource = "arXiv:1910.10683, section 2.1";

  struct Params {
    std::int64_t n_buckets = 32;
    std::int64_t max_distance = 128;
    bool bidirectional = true;

    static constexpr auto fields() {
      using headwright::field;
      return std::tuple{
          field("n_buckets", &Params::n_buckets, "classes of distances, of both directions together",
                headwright::at_least(2)),
          field("max_distance", &Params::max_distance, "tokens from which on all distances share the last class",
                headwright::at_least(2)),
          field("bidirectional", &Params::bidirectional,
                "if earlier and later keys have classes of their own; false = later keys count as distance 0"),
      };
    }
  };

  static headwright::Claims claims(const headwright::Dims&, const Params&) {
    return {.bias = true, .cost = "O(seq^2 n_heads)"};
  }

  static void check(const headwright::Dims&, const Params& params, headwright::Issues& issues) {
    const auto got = "got " + std::to_string(params.n_buckets);
    if (params.bidirectional && (params.n_buckets % 2 != 0 || params.n_buckets < 4)) {
      issues.add("n_buckets", got + ", expected an even number of at least 4 for two directions");
      return;
    }
    const auto near = params.n_buckets / (params.bidirectional ? 4 : 2);  // distances with a class of their own
    if (params.max_distance <= near) {
      issues.add("max_distance", "got " + std::to_string(params.max_distance) + ", expected more than the " +
                                     std::to_string(near) + " distances with a class of their own");
    }
    const auto far = params.n_buckets / (params.bidirectional ? 2 : 1) - near;
    if (far == 1 && params.max_distance != Params().max_distance) {
      issues.add("max_distance", "got " + std::to_string(params.max_distance) + ", which has no effect with " +
                                     "n_buckets = " + std::to_string(params.n_buckets) + ": all distances past " +
                                     std::to_string(near) + " share one class; leave it out");
    }
  }

  RelativeBias(const headwright::Dims& dims, const Params& params) : params_(params) {
    const auto spread = 1 / std::sqrt(static_cast<double>(dims.d_model));
    weight_ = register_parameter("weight", at::randn({params.n_buckets, dims.n_heads}) * spread);
  }

  headwright::ScoreModifier bias() const override {
    return headwright::relative_bias(weight_, params_.bidirectional, params_.max_distance);
  }

 private:
  const Params params_;
  at::Tensor weight_;  // (n_buckets, n_heads)
};

}  // namespace

HEADWRIGHT_PLUGIN("relative_bias", RelativeBias);

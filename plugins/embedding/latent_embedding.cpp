// Learned latents (Perceiver): a fixed number of trained vectors, the same for every input, which layers with
// cross-attention fill from the memory.
//
//   y = latents, once for each row of the memory
//
// Source: Jaegle et al. 2021, arXiv:2103.03206, section 3.1.
// Cost:   O(n_latents d_model).
#include "headwright/plugin.h"

namespace {

using namespace headwright;

constexpr double kStartDeviation = 0.02;  // of the paper

class LatentEmbedding final : public Embedding {
 public:
  static constexpr auto kSummary = "trained vectors in the place of an input, filled from the memory";
  static constexpr auto kSource = "arXiv:2103.03206, section 3.1";

  struct Params {
    std::int64_t n_latents = 0;

    static constexpr auto fields() {
      return std::tuple{field("n_latents", &Params::n_latents, "number of trained vectors", required() | at_least(1))};
    }
  };

  static Claims claims(const Dims&, const Params&) { return {.cost = "O(n_latents d_model)", .takes = Takes::nothing}; }

  LatentEmbedding(const Dims& dims, const Params& params) {
    weight_ = register_parameter("weight", at::randn({params.n_latents, dims.d_model}) * kStartDeviation);
  }

  at::Tensor forward(const Inputs& in) override {
    if (!in.memory.defined() || in.memory.dim() != 3) {
      refuse_shape("latent_embedding", "memory", in.memory, "(batch, memory_len, d_memory), to fill the latents from");
    }
    const auto for_its_batch = at::zeros_like(in.memory.sum({1, 2}, /*keepdim=*/true));  // (batch, 1, 1)
    return weight_ + for_its_batch;                                                      // (batch, n_latents, d_model)
  }

 private:
  at::Tensor weight_;  // (n_latents, d_model)
};

}  // namespace

HEADWRIGHT_PLUGIN("latent_embedding", LatentEmbedding);

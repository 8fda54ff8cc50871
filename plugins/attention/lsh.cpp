// Reformer's attention: a token looks at those whose hash is its own, found by sorting, not by comparing all with all.
//
//   y_i = sum_j softmax_j(x_i . k_j / sqrt(d_head)) v_j   over the j != i in the bucket of i, in its chunk or the one
//         before, in any round;   queries are keys: k_j = x_j / |x_j|
//   bucket_r(x) = argmax [x R_r; -x R_r],   R_r: random directions, drawn once from the seed
//
// Each round attends within its chunks; rounds are put together by their sums of exponentials, a key that is found in
// several of them counted once. A token looks at itself only where nothing else is to be seen. A chunk is `chunk_size`
// tokens of one bucket in their order, so that neither a later token nor a hidden one moves its bounds; each document
// has buckets of its own. Source: Kitaev et al. 2020, arXiv:2001.04451, section 2 and appendix A. Cost:   O(n_rounds
// seq (chunk_size + n_buckets) d_model).
#include <ATen/CPUGeneratorImpl.h>
#include <torch/csrc/jit/frontend/tracer.h>

#include "headwright/plugin.h"

namespace {

using namespace headwright;

class Lsh final : public Attention {
 public:
  static constexpr auto kSummary = "Reformer: attention among tokens of one hash bucket, queries and keys shared";
  static constexpr auto kSource = "arXiv:2001.04451, section 2";

  struct Params {
    std::int64_t n_rounds = 2, n_buckets = 8, chunk_size = 32, seed = 0;
    bool causal = false, qkv_bias = false, out_bias = true;

    static constexpr auto fields() {
      return std::tuple{
          field("n_rounds", &Params::n_rounds, "independent hashes; a key is seen if any of them finds it",
                between(1, 64)),
          field("n_buckets", &Params::n_buckets, "values of a hash, an even number", between(2, 65536)),
          field("chunk_size", &Params::chunk_size,
                "tokens; a query sees those of its bucket in its own chunk and the one before", at_least(1)),
          field("causal", &Params::causal, "if a token sees no later one"),
          field("seed", &Params::seed, "of the random directions", at_least(0)),
          field("qkv_bias", &Params::qkv_bias, "if the projections of queries (the keys, too) and values add a bias"),
          field("out_bias", &Params::out_bias, "if the output projection adds a bias"),
      };
    }
  };

  static Claims claims(const Dims&, const Params& params) {
    return {.causal = params.causal,
            .key_mask = true,
            .dynamic_export = false,
            .cost = "O(n_rounds seq (chunk_size + n_buckets) d_model)",
            .document_ids = true,
            .reads = {.n_heads = true, .n_kv_heads = true, .d_head = true}};
  }

  static void check(const Dims& dims, const Params& params, Issues& issues) {
    QkvAttention::check_heads(dims, issues);
    if (params.n_buckets % 2 != 0) {
      issues.add("n_buckets", "got " + std::to_string(params.n_buckets) +
                                  ", expected an even number: each direction has an opposite");
    }
    if (dims.n_kv_heads != dims.n_heads) {
      issues.add("n_kv_heads", "lsh has as many as n_heads, since its queries are its keys");
    }
  }

  Lsh(const Dims& dims, const Params& params) : params_(params), n_heads_(dims.n_heads), d_head_(d_head_of(dims)) {
    const auto linear = [](std::int64_t in, std::int64_t out, bool bias) {
      return torch::nn::Linear(torch::nn::LinearOptions(in, out).bias(bias));
    };
    const auto width = n_heads_ * d_head_;
    qk_proj_ = register_module("qk_proj", linear(dims.d_model, width, params.qkv_bias));
    v_proj_ = register_module("v_proj", linear(dims.d_model, width, params.qkv_bias));
    out_proj_ = register_module("out_proj", linear(width, dims.d_model, params.out_bias));
    const auto generator = at::make_generator<at::CPUGeneratorImpl>(static_cast<std::uint64_t>(params.seed));
    directions_ = register_buffer(
        "directions", at::randn({n_heads_, params.n_rounds, d_head_, params.n_buckets / 2}, generator, at::kFloat));
  }

  at::Tensor forward(const Inputs& inputs) override {
    const auto qk = split_heads(qk_proj_(inputs.x), n_heads_);  // (batch, n_heads, seq, d_head)
    const auto v = split_heads(v_proj_(inputs.x), n_heads_);
    if (inputs.x.numel() == 0) return out_proj_(merge_heads(v));
    const auto places = placed(qk, inputs);
    note(inputs, "buckets", "hash of each token (batch, n_heads, n_rounds, seq); n_buckets = hidden",
         [&] { return places.bucket; });
    const auto found = look_up(qk, v, places);
    note(inputs, "weights", "share of each key in a token's output", [&] { return weights_of(found, places); });
    return out_proj_(merge_heads(found.y));  // (batch, seq, d_model)
  }

 private:
  /// Slots: chunk after chunk, each for tokens of one bucket. A slot without a token holds the number `seq`, which is
  /// the row of zeros behind all tokens.
  struct Places {
    at::Tensor bucket, slot;  // (batch, n_heads, n_rounds, seq)
    at::Tensor chunk;         // (batch, n_heads, n_rounds, seq + 1): one number for each chunk of each bucket
    at::Tensor token;         // (batch, n_heads, n_rounds, n_chunks, chunk_size)
    at::Tensor keys;          // (batch, n_heads, n_rounds, n_chunks, 2 chunk_size): the chunk before, and this one
    at::Tensor hidden;        // (batch, 1, 1, seq) bool
  };

  struct Found {
    at::Tensor y;      // (batch, n_heads, seq, d_head)
    at::Tensor share;  // (batch, n_heads, n_rounds, n_chunks, chunk_size, 2 chunk_size): of the keys
    at::Tensor alone;  // (batch, n_heads, seq) bool: sees nothing but itself
  };

  Places placed(const at::Tensor& qk, const Inputs& inputs) const {
    const auto seq = qk.size(2), size = std::min(params_.chunk_size, seq);  // a longer chunk holds no more
    const auto documents = document_numbers("lsh", inputs);
    const auto n_chunks = seq / size + std::min((params_.n_buckets + 1) * at_most(documents), seq);
    Places places;
    const auto turned = at::einsum("bhid,hrdc->bhric", {wide(qk.detach()), wide(directions_)});
    places.bucket = at::cat({turned, turned.neg()}, -1).argmax(-1);
    places.hidden = inputs.key_mask.defined() ? inputs.key_mask.logical_not().unsqueeze(1).unsqueeze(1)
                                              : at::zeros_like(places.bucket.select(2, 0), at::kBool).unsqueeze(2);
    places.bucket = places.bucket.masked_fill(places.hidden, params_.n_buckets);  // a bucket of their own

    auto own = places.bucket;
    if (documents.defined()) own = own + documents.unsqueeze(1).unsqueeze(1) * (params_.n_buckets + 1);
    const auto [sorted, order] = own.sort(/*stable=*/true, 3, /*descending=*/false);
    const auto index = positions_along(inputs.x, 1).expand_as(sorted);
    const auto begins = at::cat(
        {at::ones_like(sorted.slice(3, 0, 1), at::kBool), sorted.slice(3, 1).ne(sorted.slice(3, 0, seq - 1))}, 3);
    const auto rank = index - std::get<0>(index.masked_fill(begins.logical_not(), 0).cummax(3));  // within its bucket
    const auto number = rank.remainder(size).eq(0).cumsum(3) - 1;                                 // of the chunk
    places.slot = at::empty_like(order).scatter(3, order, number * size + rank.remainder(size));
    places.chunk = sorted * (seq / size + 3) + rank.floor_divide(size);  // two buckets are never neighbours
    places.chunk = at::empty_like(order).scatter(3, order, places.chunk);
    places.chunk = at::cat({places.chunk, at::full_like(places.chunk.slice(3, 0, 1), -2)}, 3);

    const auto empty = places.slot.new_full({qk.size(0), n_heads_, params_.n_rounds, n_chunks * size}, seq);
    places.token = empty.scatter(3, places.slot, index).unflatten(3, {n_chunks, size});
    const auto none = at::full_like(places.token.slice(3, 0, 1), seq);
    places.keys = at::cat({at::cat({none, places.token.slice(3, 0, n_chunks - 1)}, 3), places.token}, 4);
    return places;
  }

  /// A bound on how many documents there are; a trace must not count those of its example.
  static std::int64_t at_most(const at::Tensor& documents) {
    if (!documents.defined()) return 1;
    return torch::jit::tracer::isTracing() ? documents.size(1) : documents.max().item<std::int64_t>() + 1;
  }

  /// Rows of x (batch, n_heads, seq, d) for tokens (batch, n_heads, n_rounds, n_chunks, n): (.., n, d).
  at::Tensor rows(const at::Tensor& x, const at::Tensor& tokens) const {
    const auto padded = at::cat({x, at::zeros_like(x.slice(2, 0, 1))}, 2).unsqueeze(2);
    const auto all = padded.expand({-1, -1, params_.n_rounds, -1, -1});
    const auto flat = tokens.flatten(3).unsqueeze(-1).expand({-1, -1, -1, -1, d_head_});
    return all.gather(3, flat).unflatten(3, {tokens.size(3), tokens.size(4)});
  }

  /// In how many rounds the token of a slot sees the one of another slot, itself left out; 0 = it must not.
  at::Tensor times_seen(const Places& places) const {
    const auto at_slots = [](const at::Tensor& of_tokens, const at::Tensor& tokens) {
      return of_tokens.gather(3, tokens.flatten(3)).view_as(tokens);
    };
    at::Tensor times;  // (batch, n_heads, n_rounds, n_chunks, chunk_size, 2 chunk_size)
    const auto near = [&](const at::Tensor& chunk) {
      const auto apart = at_slots(chunk, places.token).unsqueeze(-1) - at_slots(chunk, places.keys).unsqueeze(-2);
      return apart.eq(0).logical_or(apart.eq(1));
    };
    for (std::int64_t round = 0; round < params_.n_rounds; ++round) {
      const auto in_round = near(places.chunk.slice(2, round, round + 1).expand_as(places.chunk));
      times = times.defined() ? times + in_round : in_round.to(at::kLong);
    }
    auto here = near(places.chunk);
    const auto i = places.token.unsqueeze(-1), j = places.keys.unsqueeze(-2);
    here = here.logical_and(params_.causal ? j.lt(i) : j.ne(i));
    const auto of_hidden = at::cat({places.hidden, at::ones_like(places.hidden.slice(3, 0, 1))}, 3);
    const auto hidden = of_hidden.expand_as(places.chunk).gather(3, places.keys.flatten(3)).view_as(places.keys);
    return times * here.logical_and(hidden.logical_not().unsqueeze(-2));
  }

  Found look_up(const at::Tensor& qk, const at::Tensor& v, const Places& places) const {
    const auto q = wide(qk);  // half types have no 1e-12
    const auto k = q / q.square().sum(-1, true).add(1e-12).sqrt();
    const auto times = times_seen(places);
    const auto seen = times.gt(0);
    auto scores = rows(q, places.token).matmul(rows(k, places.keys).transpose(-2, -1));
    scores = scores / std::sqrt(static_cast<double>(d_head_)) - times.clamp_min(1).to(scores.scalar_type()).log();
    scores = scores.masked_fill(seen.logical_not(), -INFINITY);

    const auto by_token = [&](const at::Tensor& x) {  // (.., n_chunks, chunk_size) -> (batch, n_heads, n_rounds, seq)
      return x.flatten(3, 4).gather(3, places.slot);
    };
    const auto at_slots = [&](const at::Tensor& x) {  // the reverse; x: (batch, n_heads, seq), the same in all rounds
      const auto padded = at::cat({x, at::zeros_like(x.slice(2, 0, 1))}, 2).unsqueeze(2);
      return padded.expand_as(places.chunk).gather(3, places.token.flatten(3)).view_as(places.token);
    };
    // The largest score over all rounds, so that their exponentials add up.
    const auto largest = by_token(scores.detach().amax(-1)).amax(2);  // (batch, n_heads, seq)
    const auto base = at_slots(largest.masked_fill(largest.eq(-INFINITY), 0));
    const auto powers = (scores - base.unsqueeze(-1)).exp();
    const auto sums = by_token(powers.sum(-1)).sum(2);  // (batch, n_heads, seq)
    Found found;
    found.alone = sums.eq(0);
    const auto divisor = at_slots(sums.masked_fill(found.alone, 1)).masked_fill(places.token.eq(qk.size(2)), 1);
    found.share = powers / divisor.unsqueeze(-1);
    const auto parts =
        found.share.matmul(rows(wide(v), places.keys)).flatten(3, 4);  // (batch, n_heads, n_rounds, slots, d)
    const auto own_slots = places.slot.unsqueeze(-1).expand({-1, -1, -1, -1, d_head_});
    const auto itself = found.alone.logical_and(places.hidden.squeeze(2).logical_not());
    found.y = parts.gather(3, own_slots).sum(2).to(v.scalar_type()) + v * itself.unsqueeze(-1);
    return found;
  }

  /// (batch, n_heads, seq, seq)
  static at::Tensor weights_of(const Found& found, const Places& places) {
    const auto seq = places.slot.size(3);
    const auto share = found.share.detach();
    const auto pair = (places.token.unsqueeze(-1) * (seq + 1) + places.keys.unsqueeze(-2)).flatten(2);
    auto weights = share.new_zeros({share.size(0), share.size(1), (seq + 1) * (seq + 1)});
    weights = weights.scatter_add(2, pair, share.flatten(2)).unflatten(2, {seq + 1, seq + 1});
    weights = weights.slice(2, 0, seq).slice(3, 0, seq);
    const auto itself = found.alone.logical_and(places.hidden.squeeze(2).logical_not());
    return weights + at::diag_embed(itself.to(weights.dtype()));
  }

  const Params params_;
  const std::int64_t n_heads_, d_head_;
  torch::nn::Linear qk_proj_{nullptr}, v_proj_{nullptr}, out_proj_{nullptr};
  at::Tensor directions_;  // (n_heads, n_rounds, d_head, n_buckets / 2)
};

}  // namespace

HEADWRIGHT_PLUGIN("lsh", Lsh);

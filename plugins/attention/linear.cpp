// Linear attention: softmax replaced by a positive feature map, so that the cost grows linearly with the length.
//
//   y_i = phi(q_i) S_i / (phi(q_i) . z_i + eps),   S_i = sum_j phi(k_j) v_j^T,   z_i = sum_j phi(k_j)
//   phi(x) = elu(x) + 1
//
// over the visible keys j of i's document, or those of them with j <= i. The causal form is computed in chunks: within
// one by scores, between them by states; token by token it is a recurrence on S and z, which are 0 at the start of each
// document. With documents the other form adds up the causal one of both directions.
// Source: Katharopoulos et al. 2020, arXiv:2006.16236, sections 3.2 and 3.3.
// Cost:   O(seq d_model (d_model + d_head)).
#include <torch/csrc/jit/frontend/tracer.h>

#include "headwright/plugin.h"

namespace {
using namespace headwright;

constexpr std::int64_t kChunk = 64;  // tokens

class Linear final : public Attention {
 public:
  static constexpr auto kSummary = "softmax replaced by the feature map elu(x) + 1, at a cost linear in the length";
  static constexpr auto kSource = "arXiv:2006.16236, sections 3.2 and 3.3";

  struct Params {
    bool causal = true;
    double eps = 1e-6;
    bool qkv_bias = false;
    bool out_bias = true;

    static constexpr auto fields() {
      return std::tuple{field("causal", &Params::causal, "if a token sees only itself and what came before"),
                        field("eps", &Params::eps, "added to the normaliser", positive()),
                        field("qkv_bias", &Params::qkv_bias, "if the projections of q, k and v add a bias"),
                        field("out_bias", &Params::out_bias, "if the output projection adds a bias")};
    }
  };

  static Claims claims(const Dims&, const Params& params) {
    return {.causal = params.causal,
            .key_mask = true,
            .cost = "O(seq d_model (d_model + d_head))",
            .cache = params.causal,
            .document_ids = true,
            .reads = {.n_heads = true, .n_kv_heads = true, .d_head = true}};
  }

  static void check(const Dims& dims, const Params&, Issues& issues) { QkvAttention::check_heads(dims, issues); }

  Linear(const Dims& dims, const Params& params)
      : n_heads_(dims.n_heads),
        n_kv_heads_(dims.n_kv_heads),
        d_head_(d_head_of(dims)),
        causal_(params.causal),
        eps_(params.eps) {
    const auto linear = [&](const char* name, std::int64_t in, std::int64_t out, bool bias) {
      return register_module(name, torch::nn::Linear(torch::nn::LinearOptions(in, out).bias(bias)));
    };
    q_proj_ = linear("q_proj", dims.d_model, n_heads_ * d_head_, params.qkv_bias);
    k_proj_ = linear("k_proj", dims.d_model, n_kv_heads_ * d_head_, params.qkv_bias);
    v_proj_ = linear("v_proj", dims.d_model, n_kv_heads_ * d_head_, params.qkv_bias);
    out_proj_ = linear("out_proj", n_heads_ * d_head_, dims.d_model, params.out_bias);
  }

  /// "state": S (batch, n_kv_heads, d_head, d_head), "normaliser": z (batch, n_kv_heads, d_head); in float32 for half
  /// types. They hold sequences of any length.
  Cache make_cache(std::int64_t batch, std::int64_t capacity) const override {
    if (!causal_) return Attention::make_cache(batch, capacity);  // refuses
    const auto& weight = q_proj_->weight;
    const auto options = weight.options().dtype(wide(weight.scalar_type()));
    return {.tensors = {{"state", at::zeros({batch, n_kv_heads_, d_head_, d_head_}, options)},
                        {"normaliser", at::zeros({batch, n_kv_heads_, d_head_}, options)}},
            .length = at::zeros({}, at::kLong)};
  }

  at::Tensor forward(const Inputs& in) override {
    if (in.cache != nullptr && !causal_) {
      throw InputError("[linear] cache: got one, but without causal every token sees those to come");
    }
    const auto type = wide(in.x.scalar_type());
    const auto q = split_heads(q_proj_(in.x), n_heads_);     // (batch, n_heads, seq, d_head)
    const auto k = split_heads(k_proj_(in.x), n_kv_heads_);  // (batch, n_kv_heads, seq, d_head)
    const auto v = split_heads(v_proj_(in.x), n_kv_heads_);
    note(in, "q", "queries (batch, n_heads, seq, d_head)", [&] { return q; });
    note(in, "k", "keys (batch, n_kv_heads, seq, d_head)", [&] { return k; });
    note(in, "v", "values (batch, n_kv_heads, seq, d_head)", [&] { return v; });

    // The queries of one key head stand side by side: (batch, n_kv_heads, group, seq, d_head).
    const auto phi_q = features(q.to(type)).unflatten(1, {n_kv_heads_, n_heads_ / n_kv_heads_});
    auto phi_k = features(k.to(type));
    const auto visible = key_mask_of_x("linear", in);
    if (visible.defined()) phi_k = phi_k.masked_fill(visible.logical_not().unsqueeze(1).unsqueeze(-1), 0);
    // A value of 1 beside the others sums up what the outputs are divided by.
    const auto values = v.to(type);
    const auto v_and_1 = at::cat({values, at::ones_like(values.slice(-1, 0, 1))}, -1);
    const auto documents = document_numbers("linear", in);
    if (in.cache == nullptr) {
      note(in, "weights", "share of each value in a token's output", [&] { return weights(phi_q, phi_k, documents); });
    }
    const auto sums = sums_seen(phi_q, phi_k, v_and_1, documents, in.cache);
    const auto y = sums.slice(-1, 0, d_head_) / (sums.slice(-1, d_head_) + eps_);
    const auto heads = y.flatten(1, 2).to(in.x.scalar_type());  // (batch, n_heads, seq, d_head)
    note(in, "heads", "output of each head (batch, n_heads, seq, d_head)", [&] { return heads; });
    return out_proj_(merge_heads(heads));  // (batch, seq, d_model)
  }

 private:
  /// elu(x) + 1, without the sum in which the digits of a small exp(x) would be lost.
  static at::Tensor features(const at::Tensor& x) { return x.clamp_max(0).exp() + x.relu(); }

  at::Tensor weights(const at::Tensor& phi_q, const at::Tensor& phi_k, const at::Tensor& documents) const {
    auto scores = phi_q.matmul(phi_k.transpose(-2, -1).unsqueeze(2));  // (batch, n_kv_heads, group, seq, seq)
    if (causal_) scores = scores.tril();
    if (documents.defined()) {
      scores = scores * documents.unsqueeze(-1).eq(documents.unsqueeze(-2)).unsqueeze(1).unsqueeze(1);
    }
    return (scores / (scores.sum(-1, /*keepdim=*/true) + eps_)).flatten(1, 2);
  }

  /// What phi(q) makes of S and z: (batch, n_kv_heads, group, seq, d_head + 1).
  at::Tensor sums_seen(const at::Tensor& phi_q, const at::Tensor& phi_k, const at::Tensor& v,
                       const at::Tensor& documents, Cache* cache) const {
    if (documents.defined()) {
      return causal_ ? before_each_in_documents(phi_q, phi_k, v, documents, cache)
                     : over_documents(phi_q, phi_k, v, documents);
    }
    return causal_ ? before_each(phi_q, phi_k, v, cache) : phi_q.matmul(phi_k.transpose(-2, -1).matmul(v).unsqueeze(2));
  }

  /// (..., seq, width) -> (..., chunks, size, width), with zeros behind the end
  static at::Tensor chunks(const at::Tensor& x, std::int64_t size) {
    return at::constant_pad_nd(x, {0, 0, 0, size}).unfold(-2, size, size).transpose(-2, -1);
  }

  /// A trace does not know the length, so its chunks are whole; a short sequence is one chunk.
  static std::int64_t chunk_size(const at::Tensor& k) {
    return torch::jit::tracer::isTracing() ? kChunk : std::min(kChunk, k.size(2) + 1);
  }

  /// What the cache holds: S, and beside it z, (batch, n_kv_heads, d_head, d_head + 1).
  static at::Tensor held(Cache& cache) {
    return at::cat({cache.at("state"), cache.at("normaliser").unsqueeze(-1)}, -1);
  }

  void hold(Cache& cache, const at::Tensor& state, std::int64_t seq_len) const {
    cache.at("state") = state.slice(-1, 0, d_head_);
    cache.at("normaliser") = state.select(-1, d_head_);
    cache.length = cache.length + seq_len;
  }

  /// The sums that each token sees, itself included: (batch, n_kv_heads, group, seq, d_head + 1).
  at::Tensor before_each(const at::Tensor& phi_q, const at::Tensor& phi_k, const at::Tensor& v, Cache* cache) const {
    const auto size = chunk_size(phi_k);
    const auto q_in = chunks(phi_q, size);                          // (batch, n_kv_heads, group, chunks, size, d_head)
    const auto k_in = chunks(phi_k, size), v_in = chunks(v, size);  // (batch, n_kv_heads, chunks, size, ...)
    const auto states = k_in.transpose(-2, -1).matmul(v_in).cumsum(2);               // behind each chunk
    auto earlier = at::constant_pad_nd(states.slice(2, 0, -1), {0, 0, 0, 0, 1, 0});  // before each chunk
    if (cache != nullptr) {
      const auto before = held(*cache);
      earlier = earlier + before.unsqueeze(2);
      hold(*cache, before + states.select(2, -1), phi_k.size(2));
    }
    const auto scores = q_in.matmul(k_in.transpose(-2, -1).unsqueeze(2)).tril();
    const auto sums = scores.matmul(v_in.unsqueeze(2)) + q_in.matmul(earlier.unsqueeze(2));
    return sums.flatten(3, 4).index_select(3, positions_along(phi_k, 2));
  }

  /// The same where documents begin among the tokens. itself: without it, a token sees only what came before it.
  static at::Tensor within_documents(const at::Tensor& phi_q, const at::Tensor& phi_k, const at::Tensor& v,
                                     const at::Tensor& documents, bool itself) {
    const auto size = chunk_size(phi_k);
    const DocumentChunks of(documents, size);
    const auto q_in = chunks(phi_q, size), k_in = chunks(phi_k, size), v_in = chunks(v, size);
    const auto states = states_before((k_in * of.stays).transpose(-2, -1).matmul(v_in), of.log_kept);
    const auto products = q_in.matmul(k_in.transpose(-2, -1).unsqueeze(2)).tril(itself ? 0 : -1);
    const auto scores = products * of.same.unsqueeze(2);
    const auto sums = scores.matmul(v_in.unsqueeze(2)) + (q_in * of.goes_on.unsqueeze(2)).matmul(states.unsqueeze(2));
    return sums.flatten(3, 4).index_select(3, positions_along(phi_k, 2));
  }

  at::Tensor before_each_in_documents(const at::Tensor& phi_q, const at::Tensor& phi_k, const at::Tensor& v,
                                      const at::Tensor& documents, Cache* cache) const {
    const auto sums = within_documents(phi_q, phi_k, v, documents, /*itself=*/true);
    if (cache == nullptr) return sums;
    const auto of_tokens = [](const at::Tensor& x) { return x.unsqueeze(1).unsqueeze(-1); };  // (batch, 1, seq, 1)
    const auto before = held(*cache);
    const auto last = documents.slice(1, -1);
    const auto added = (phi_k * of_tokens(documents.eq(last))).transpose(-2, -1).matmul(v);
    hold(*cache, before * of_tokens(last.eq(0)) + added, phi_k.size(2));
    return sums + (phi_q * of_tokens(documents.eq(0)).unsqueeze(2)).matmul(before.unsqueeze(2));
  }

  /// The sums over each token's document: what came before it, itself included, and what comes behind it.
  static at::Tensor over_documents(const at::Tensor& phi_q, const at::Tensor& phi_k, const at::Tensor& v,
                                   const at::Tensor& documents) {
    const auto behind = within_documents(phi_q.flip(-2), phi_k.flip(-2), v.flip(-2), documents.flip(-1), false);
    return within_documents(phi_q, phi_k, v, documents, true) + behind.flip(-2);
  }

  const std::int64_t n_heads_, n_kv_heads_, d_head_;
  const bool causal_;
  const double eps_;
  torch::nn::Linear q_proj_{nullptr}, k_proj_{nullptr}, v_proj_{nullptr}, out_proj_{nullptr};
};

}  // namespace

HEADWRIGHT_PLUGIN("linear", Linear);

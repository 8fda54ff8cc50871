// Retention: attention without softmax, whose memory fades by one factor per head; parallel in training, a state of
// fixed size in use.
//
//   S_n = gamma_h S_{n-1} + k_n v_n^T,   r_n = S_n^T q_n = sum_{m <= n} gamma_h^(n - m) (q_n . k_m) v_m
//   gamma_h = 1 - 2^(-5 - h),   y = W_out (swish(W_gate x) * normed(r))
//
// q and k are turned by their position as in xPos without its fading: channels (2i, 2i + 1) by the angle
// n rope_theta^(-2i / d_head). k is divided by sqrt(d_head). `normed` gives each head mean 0 and variance 1 over its
// channels, with no learned factor: the group norm of the paper. It undoes any factor of a row, so the paper's other
// two normalisations (of the fading and of the scores) are left out. A hidden token adds nothing; the memory fades on.
// Each document begins with an empty memory.
//
// Computed in chunks: within one by scores, between them by states. An exported layer weighs all earlier chunks for
// each, which costs O((seq / 64)^2 d_model d_head) more.
// Source: Sun et al. 2023, arXiv:2307.08621, sections 2.1 and 2.2.
// Cost:   O(seq d_model (d_model + d_head)).
#include <torch/csrc/jit/frontend/tracer.h>

#include "headwright/plugin.h"

namespace {
using namespace headwright;

constexpr std::int64_t kChunk = 64;  // tokens

class Retention final : public Attention {
 public:
  static constexpr auto kSummary = "linear attention that fades by a factor per head, normed and gated (RetNet)";
  static constexpr auto kSource = "arXiv:2307.08621, sections 2.1 and 2.2";

  struct Params {
    std::optional<std::int64_t> d_value;
    double rope_theta = 10000;
    double eps = 1e-5;

    static constexpr auto fields() {
      return std::tuple{field("d_value", &Params::d_value,
                              "width of one head's values; absent = d_head, the paper has twice that", at_least(1)),
                        field("rope_theta", &Params::rope_theta,
                              "base of the angles that turn q and k; 1 = one angle for all", at_least(1)),
                        field("eps", &Params::eps, "added to the variance of each head's output", positive())};
    }
  };

  static Claims claims(const Dims&, const Params&) {
    return {.causal = true,
            .key_mask = true,
            .cost = "O(seq d_model (d_model + d_head))",
            .cache = true,
            .document_ids = true,
            .positions = true,
            .reads = {.n_heads = true, .n_kv_heads = true, .d_head = true}};
  }

  static void check(const Dims& dims, const Params&, Issues& issues) {
    const auto before = issues.items().size();
    QkvAttention::check_heads(dims, issues);
    if (issues.items().size() > before) return;
    if (dims.n_kv_heads != dims.n_heads)
      issues.add("n_kv_heads", "got " + std::to_string(dims.n_kv_heads) + ", expected n_heads = " +
                                   std::to_string(dims.n_heads) + ": each head of retention has keys of its own");
    if (d_head_of(dims) % 2 != 0) {
      issues.add("d_head",
                 "got " + std::to_string(d_head_of(dims)) + ", expected an even number: channels turn in pairs");
    }
  }

  static ParamMap effective(const Dims& dims, const Params& params) {
    return {{"d_value", {params.d_value.value_or(d_head_of(dims))}}};
  }

  Retention(const Dims& dims, const Params& params)
      : n_heads_(dims.n_heads),
        d_head_(d_head_of(dims)),
        d_value_(params.d_value.value_or(d_head_)),
        rope_theta_(params.rope_theta),
        eps_(params.eps) {
    const auto linear = [&](const char* name, std::int64_t in, std::int64_t out) {
      return register_module(name, torch::nn::Linear(torch::nn::LinearOptions(in, out).bias(false)));
    };
    q_proj_ = linear("q_proj", dims.d_model, n_heads_ * d_head_);
    k_proj_ = linear("k_proj", dims.d_model, n_heads_ * d_head_);
    v_proj_ = linear("v_proj", dims.d_model, n_heads_ * d_value_);
    gate_proj_ = linear("gate_proj", dims.d_model, n_heads_ * d_value_);
    out_proj_ = linear("out_proj", n_heads_ * d_value_, dims.d_model);
  }

  /// "state": S, (batch, n_heads, d_head, d_value), in float32 for half types. It holds sequences of any length.
  Cache make_cache(std::int64_t batch, std::int64_t) const override {
    const auto& weight = q_proj_->weight;
    const auto options = weight.options().dtype(wide(weight.scalar_type()));
    return {.tensors = {{"state", at::zeros({batch, n_heads_, d_head_, d_value_}, options)}},
            .length = at::zeros({}, at::kLong)};
  }

  at::Tensor forward(const Inputs& in) override {
    const auto type = wide(in.x.scalar_type());
    const auto positions = positions_of(in);
    const auto q = turned(split_heads(q_proj_(in.x), n_heads_).to(type), positions);  // (batch, n_heads, seq, d_head)
    auto k = turned(split_heads(k_proj_(in.x), n_heads_).to(type), positions) / std::sqrt(static_cast<double>(d_head_));
    const auto visible = key_mask_of_x("retention", in);
    if (visible.defined()) k = k.masked_fill(visible.logical_not().unsqueeze(1).unsqueeze(-1), 0);
    const auto v = split_heads(v_proj_(in.x), n_heads_).to(type);  // (batch, n_heads, seq, d_value)
    note(in, "q", "queries, turned (batch, n_heads, seq, d_head)", [&] { return q; });
    note(in, "k", "keys, turned and scaled (batch, n_heads, seq, d_head)", [&] { return k; });
    note(in, "v", "values (batch, n_heads, seq, d_value)", [&] { return v; });
    const auto documents = document_numbers("retention", in);
    if (in.cache == nullptr) {
      note(in, "weights", "q . k, faded by distance: the factor of each value",
           [&] { return faded_scores(q, k, documents); });
    }
    const auto retained = in.cache != nullptr ? go_on(q, k, v, documents, *in.cache) : retain(q, k, v, documents);
    note(in, "heads", "what each head retained (batch, n_heads, seq, d_value)", [&] { return retained; });
    const auto normed = at::layer_norm(retained, {d_value_}, {}, {}, eps_).to(in.x.scalar_type());
    return out_proj_(at::silu(gate_proj_(in.x)) * merge_heads(normed));  // (batch, seq, d_model)
  }

 private:
  /// x: (batch, n_heads, seq, d_head), positions: (seq) or (batch, seq)
  at::Tensor turned(const at::Tensor& x, const at::Tensor& positions) const {
    const auto pairs = x.unflatten(-1, {d_head_ / 2, 2});
    const auto a = pairs.select(-1, 0), b = pairs.select(-1, 1);  // (batch, n_heads, seq, d_head / 2)
    const auto type = x.is_mps() ? at::kFloat : at::kDouble;      // float32 loses the turns of late positions
    const auto i = positions_along(a, 3).to(type);
    const auto speed = at::pow(rope_theta_, i * (-2.0 / static_cast<double>(d_head_)));  // (d_head / 2)
    auto angle = positions.to(type).unsqueeze(-1) * speed;                               // (seq, d_head / 2)
    if (positions.dim() == 2) angle = angle.unsqueeze(1);                                // (batch, 1, seq, d_head / 2)
    const auto cos = angle.cos().to(x.scalar_type()), sin = angle.sin().to(x.scalar_type());
    return at::stack({a * cos - b * sin, a * sin + b * cos}, -1).flatten(-2);
  }

  /// log gamma of each head, (n_heads, 1, 1)
  static at::Tensor log_gamma(const at::Tensor& q) {
    const auto h = positions_along(q, 1).to(q.scalar_type());
    return at::log1p(-at::exp2(-5 - h)).unsqueeze(-1).unsqueeze(-1);
  }

  /// What is left after (rows, columns) steps of `log_step` (n_heads, 1, 1), nothing before the first: (n_heads, rows,
  /// columns).
  static at::Tensor fading(const at::Tensor& log_step, const at::Tensor& steps) {
    return (log_step * steps.clamp_min(0)).exp() * (steps >= 0);
  }

  /// (batch, n_heads, seq, seq)
  static at::Tensor faded_scores(const at::Tensor& q, const at::Tensor& k, const at::Tensor& documents) {
    const auto n = positions_along(q, 2);
    const auto scores = q.matmul(k.transpose(-2, -1)) * fading(log_gamma(q), n.unsqueeze(1) - n);
    return documents.defined() ? scores * documents.unsqueeze(-1).eq(documents.unsqueeze(-2)).unsqueeze(1) : scores;
  }

  /// (batch, n_heads, seq, width) -> (batch, n_heads, chunks, size, width), with zeros behind the end
  static at::Tensor chunks(const at::Tensor& x, std::int64_t size) {
    return at::constant_pad_nd(x, {0, 0, 0, size}).unfold(2, size, size).transpose(-2, -1);
  }

  /// What a sequence retains that begins here: (batch, n_heads, seq, d_value)
  static at::Tensor retain(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const at::Tensor& documents) {
    // A trace does not know the length, so its chunks are whole; a short sequence is one chunk.
    const auto size = torch::jit::tracer::isTracing() ? kChunk : std::min(kChunk, q.size(2) + 1);
    const auto q_in = chunks(q, size), k_in = chunks(k, size), v_in = chunks(v, size);
    const auto log_step = log_gamma(q);       // (n_heads, 1, 1)
    const auto n = positions_along(q_in, 3);  // (size)
    auto scores = q_in.matmul(k_in.transpose(-2, -1)) * fading(log_step, n.unsqueeze(1) - n).unsqueeze(1);
    auto to_end = fading(log_step, (size - 1 - n).unsqueeze(1)).unsqueeze(1);  // (n_heads, 1, size, 1)
    auto from_start = fading(log_step, (n + 1).unsqueeze(1)).unsqueeze(1);     // (n_heads, 1, size, 1)
    auto log_kept = (log_step * size).squeeze(-1).expand_as(k_in.select(-1, 0).select(-1, 0));
    if (documents.defined()) {
      const DocumentChunks of(documents, size);
      scores = scores * of.same;
      to_end = to_end * of.stays;
      from_start = from_start * of.goes_on;
      log_kept = log_kept + of.log_kept;
    }
    const auto added = (k_in * to_end).transpose(-2, -1).matmul(v_in);  // (batch, n_heads, chunks, d_head, d_value)
    const auto states = states_before(added, log_kept);
    const auto all =
        scores.matmul(v_in) + (q_in * from_start).matmul(states);  // (batch, n_heads, chunks, size, d_value)
    return all.flatten(2, 3).index_select(2, positions_along(q, 2));
  }

  /// The same for a sequence that goes on behind what the cache holds.
  static at::Tensor go_on(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const at::Tensor& documents,
                          Cache& cache) {
    const auto seq_len = q.size(2);
    const auto n = positions_along(q, 2), log_step = log_gamma(q);
    auto& state = cache.at("state");
    auto from_start = fading(log_step, (n + 1).unsqueeze(1)), to_end = fading(log_step, (seq_len - 1 - n).unsqueeze(1));
    auto kept = (log_step * seq_len).exp();
    if (documents.defined()) {
      const auto of_tokens = [](const at::Tensor& x) { return x.unsqueeze(1).unsqueeze(-1); };  // (batch, 1, seq, 1)
      const auto last = documents.slice(1, -1);
      from_start = from_start * of_tokens(documents.eq(0));
      to_end = to_end * of_tokens(documents.eq(last));
      kept = kept * of_tokens(last.eq(0));
    }
    const auto retained = retain(q, k, v, documents) + (q * from_start).matmul(state);
    state = state * kept + (k * to_end).transpose(-2, -1).matmul(v);
    cache.length = cache.length + seq_len;
    return retained;
  }

  const std::int64_t n_heads_, d_head_, d_value_;
  const double rope_theta_, eps_;
  torch::nn::Linear q_proj_{nullptr}, k_proj_{nullptr}, v_proj_{nullptr}, gate_proj_{nullptr}, out_proj_{nullptr};
};

}  // namespace

HEADWRIGHT_PLUGIN("retention", Retention);

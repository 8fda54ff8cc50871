// Linear attention with a memory that is gated and corrected: each token lets the memory fade, takes out what its key
// brought up so far, and writes its own value there.
//
//   S_t = alpha_t S_{t-1} (I - beta_t k_t k_t^T) + beta_t v_t k_t^T,   o_t = S_t q_t / sqrt(d_head)
//   alpha_t = exp(-exp(A_log) softplus(W_a x_t + dt_bias)),   beta_t = sigmoid(W_b x_t), one each per head
//   q, k, v = silu(convolution(W x)), q and k of length 1;   y = W_out (rms_norm(o) * silu(W_g x))
//
// The convolution is causal, one filter per channel over conv_size tokens. A hidden token leaves the memory as it is
// and counts as zero in the convolution. Each document begins with an empty memory, and so does the convolution.
//
// Computed in chunks: what the tokens of a chunk write depends on each other through a triangular system. The exported
// form goes token by token.
// Source: Yang et al. 2024, arXiv:2412.06464, sections 3.1 (rule), 3.3 (chunks) and 3.4 (layer).
// Cost:   O(seq d_model (d_model + d_head)).
#include <torch/nn/modules/conv.h>

#include <iomanip>
#include <sstream>

#include "headwright/plugin.h"

namespace {
using namespace headwright;

constexpr std::int64_t kChunk = 64;  // tokens

class GatedDelta final : public Attention {
 public:
  static constexpr auto kSummary = "linear attention that fades and overwrites its memory (Gated DeltaNet)";
  static constexpr auto kSource = "arXiv:2412.06464, section 3";

  struct Params {
    std::optional<std::int64_t> d_value;
    std::int64_t conv_size = 4;
    double eps = 1e-6;

    static constexpr auto fields() {
      return std::tuple{
          field("d_value", &Params::d_value, "width of one head's values; absent = d_head", at_least(1)),
          field("conv_size", &Params::conv_size,
                "tokens that the convolution of q, k and v sees, itself included; 0 = no convolution", at_least(0)),
          field("eps", &Params::eps,
                "added to the squared length of q and k, and to the mean square of each head's output", positive())};
    }
  };

  static Claims claims(const Dims&, const Params&) {
    return {.causal = true,
            .key_mask = true,
            .cost = "O(seq d_model (d_model + d_head))",
            .cache = true,
            .document_ids = true,
            .reads = {.n_heads = true, .n_kv_heads = true, .d_head = true}};
  }

  static void check(const Dims& dims, const Params&, Issues& issues) {
    const auto before = issues.items().size();
    QkvAttention::check_heads(dims, issues);
    if (issues.items().size() == before && dims.n_kv_heads != dims.n_heads) {
      issues.add("n_kv_heads", "got " + std::to_string(dims.n_kv_heads) + ", expected n_heads = " +
                                   std::to_string(dims.n_heads) + ": each head of gated_delta has keys of its own");
    }
  }

  static ParamMap effective(const Dims& dims, const Params& params) {
    return {{"d_value", {params.d_value.value_or(d_head_of(dims))}}};
  }

  GatedDelta(const Dims& dims, const Params& params)
      : n_heads_(dims.n_heads),
        d_head_(d_head_of(dims)),
        d_value_(params.d_value.value_or(d_head_)),
        conv_size_(params.conv_size),
        eps_(params.eps) {
    const auto linear = [&](const char* name, std::int64_t in, std::int64_t out) {
      return register_module(name, torch::nn::Linear(torch::nn::LinearOptions(in, out).bias(false)));
    };
    q_proj_ = linear("q_proj", dims.d_model, n_heads_ * d_head_);
    k_proj_ = linear("k_proj", dims.d_model, n_heads_ * d_head_);
    v_proj_ = linear("v_proj", dims.d_model, n_heads_ * d_value_);
    a_proj_ = linear("a_proj", dims.d_model, n_heads_);
    b_proj_ = linear("b_proj", dims.d_model, n_heads_);
    g_proj_ = linear("g_proj", dims.d_model, n_heads_ * d_value_);
    if (conv_size_ > 0) {
      const auto n = channels();
      conv_ =
          register_module("conv", torch::nn::Conv1d(torch::nn::Conv1dOptions(n, n, conv_size_).groups(n).bias(false)));
    }
    // Fading as Mamba-2 begins: rates from 1 to 16, steps from 0.001 to 0.1 evenly by their logarithm.
    A_log_ = register_parameter("A_log", at::empty({n_heads_}).uniform_(1, 16).log_());
    const auto step = at::empty({n_heads_}).uniform_(std::log(1e-3), std::log(1e-1)).exp_();
    dt_bias_ = register_parameter("dt_bias", step.expm1().log());  // softplus gives the step back
    out_norm_ = register_parameter("out_norm", at::ones({d_value_}));
    out_proj_ = linear("out_proj", n_heads_ * d_value_, dims.d_model);
  }

  /// "state": S transposed, (batch, n_heads, d_head, d_value), in float32 for half types. "conv", with a convolution:
  /// the last tokens that it sees, (batch, conv_size - 1, channels). They hold sequences of any length.
  Cache make_cache(std::int64_t batch, std::int64_t) const override {
    const auto options = A_log_.options().dtype(wide(A_log_.scalar_type()));
    Cache cache{.tensors = {{"state", at::zeros({batch, n_heads_, d_head_, d_value_}, options)}},
                .length = at::zeros({}, at::kLong)};
    if (conv_size_ > 1) cache.tensors.emplace_back("conv", at::zeros({batch, conv_size_ - 1, channels()}, options));
    return cache;
  }

  at::Tensor forward(const Inputs& in) override {
    if (in.x.size(1) == 0) return out_proj_(g_proj_(in.x));  // no token, no chunk
    const auto hidden = hidden_tokens(in);                   // (batch, seq, 1), or undefined
    const auto documents = document_numbers("gated_delta", in);
    const auto type = wide(in.x.scalar_type());
    auto qkv = at::cat({q_proj_(in.x), k_proj_(in.x), v_proj_(in.x)}, -1).to(type);  // (batch, seq, channels)
    if (hidden.defined()) qkv = qkv.masked_fill(hidden, 0);
    const auto parts = at::silu(convolved(qkv, documents, in.cache))
                           .split_with_sizes({n_heads_ * d_head_, n_heads_ * d_head_, n_heads_ * d_value_}, -1);
    Tokens tokens{.q = of_length_1(split_heads(parts[0], n_heads_)) / std::sqrt(static_cast<double>(d_head_)),
                  .k = of_length_1(split_heads(parts[1], n_heads_)),
                  .v = split_heads(parts[2], n_heads_)};
    auto log_alpha = -A_log_.to(type).exp() * at::softplus(a_proj_(in.x).to(type) + dt_bias_.to(type));
    auto beta = at::sigmoid(b_proj_(in.x).to(type));  // (batch, seq, n_heads)
    if (hidden.defined()) {
      log_alpha = log_alpha.masked_fill(hidden, 0);
      beta = beta.masked_fill(hidden, 0);
    }
    if (documents.defined()) log_alpha = log_alpha.masked_fill(document_begins(documents).unsqueeze(-1), -INFINITY);
    tokens.log_alpha = log_alpha.transpose(1, 2).unsqueeze(-1);  // (batch, n_heads, seq, 1)
    tokens.beta = beta.transpose(1, 2).unsqueeze(-1);
    note_tokens(in, tokens);

    auto state = in.cache != nullptr ? in.cache->at("state") : at::Tensor();
    std::vector<at::Tensor> outputs;
    const auto seq_len = in.x.size(1);
    for (std::int64_t begin = 0; begin < seq_len; begin += kChunk) {
      outputs.push_back(next_chunk(tokens.slice(begin, std::min(begin + kChunk, seq_len)), state));
    }
    if (in.cache != nullptr) {
      in.cache->at("state") = std::move(state);
      in.cache->length = in.cache->length + seq_len;
    }
    const auto heads = at::cat(outputs, 2);  // (batch, n_heads, seq, d_value)
    note(in, "heads", "what each head brings up (batch, n_heads, seq, d_value)", [&] { return heads; });
    const auto normed = heads * (heads.square().mean(-1, /*keepdim=*/true) + eps_).rsqrt() * out_norm_.to(type);
    return out_proj_(merge_heads(normed).to(in.x.scalar_type()) * at::silu(g_proj_(in.x)));  // (batch, seq, d_model)
  }

  std::string torchscript() const override;

 private:
  /// Per head: q, k (batch, n_heads, seq, d_head), v (batch, n_heads, seq, d_value), the others (batch, n_heads, seq,
  /// 1).
  struct Tokens {
    at::Tensor q, k, v, log_alpha, beta;
    Tokens slice(std::int64_t begin, std::int64_t end) const {
      const auto part = [&](const at::Tensor& x) { return x.slice(2, begin, end); };
      return {part(q), part(k), part(v), part(log_alpha), part(beta)};
    }
  };

  /// A chunk as a triangular system: u, what its tokens write once the others' share is taken out, solves
  /// (I + beta L) u = beta (v - faded k S), L_ij = fading_ij k_i . k_j below the diagonal.
  struct Chunk {
    explicit Chunk(const Tokens& t) {
      const auto between = sums_between(t.log_alpha.squeeze(-1));  // (batch, n_heads, seq, seq)
      const auto fading = between.exp();                           // alpha_{j+1} ... alpha_i, 0 above the diagonal
      faded = t.log_alpha.cumsum(2).exp();
      to_end = between.select(-2, -1).unsqueeze(-1).exp();
      system = t.beta * (fading * t.k.matmul(t.k.transpose(-2, -1))).tril(-1);
      reads = fading * t.q.matmul(t.k.transpose(-2, -1));
    }
    at::Tensor faded, to_end;  // (batch, n_heads, seq, 1): alpha_1 ... alpha_i, and what is left of i at the end
    at::Tensor system, reads;
  };

  std::int64_t channels() const { return n_heads_ * (2 * d_head_ + d_value_); }

  static at::Tensor hidden_tokens(const Inputs& in) {
    const auto visible = key_mask_of_x("gated_delta", in);
    return visible.defined() ? visible.logical_not().unsqueeze(-1) : visible;  // (batch, seq, 1)
  }

  at::Tensor of_length_1(const at::Tensor& x) const {
    return x * (x.square().sum(-1, /*keepdim=*/true) + eps_).rsqrt();
  }

  /// x: (batch, seq, channels)
  at::Tensor convolved(const at::Tensor& x, const at::Tensor& documents, Cache* cache) {
    if (conv_size_ == 0) return x;
    auto longer = at::constant_pad_nd(x, {0, 0, conv_size_ - 1, 0});
    if (cache != nullptr && conv_size_ > 1) {
      longer = at::cat({cache->at("conv"), x}, 1);
      cache->at("conv") = longer.slice(1, x.size(1));
    }
    const auto weight = conv_->weight.to(x.scalar_type());  // (channels, 1, conv_size)
    if (documents.defined()) return convolved_in_documents(longer, weight, documents, cache);
    return at::conv1d(longer.transpose(1, 2), weight, {}, 1, at::IntArrayRef{0}, 1, channels()).transpose(1, 2);
  }

  /// Tap by tap, without tokens of other documents. x: (batch, conv_size - 1 + seq, channels); what the cache holds is
  /// all of the document that its last token is of.
  at::Tensor convolved_in_documents(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& documents,
                                    Cache* cache) const {
    const auto seq_len = documents.size(1);
    const auto of_x = at::constant_pad_nd(documents, {conv_size_ - 1, 0});
    at::Tensor sum;
    for (std::int64_t tap = 0; tap < conv_size_; ++tap) {
      const auto same = of_x.slice(1, tap, tap + seq_len).eq(documents).unsqueeze(-1);
      const auto part = x.slice(1, tap, tap + seq_len).masked_fill(same.logical_not(), 0) * weight.select(2, tap).t();
      sum = sum.defined() ? sum + part : part;
    }
    if (cache != nullptr && conv_size_ > 1) {
      const auto others = of_x.slice(1, seq_len).ne(documents.slice(1, -1)).unsqueeze(-1);
      cache->at("conv") = cache->at("conv").masked_fill(others, 0);
    }
    return sum;
  }

  /// state: (batch, n_heads, d_head, d_value), undefined = zeros; afterwards that behind the chunk.
  static at::Tensor next_chunk(const Tokens& t, at::Tensor& state) {
    const Chunk chunk(t);
    auto wanted = t.v;  // (batch, n_heads, size, d_value)
    if (state.defined()) wanted = wanted - chunk.faded * t.k.matmul(state);
    const auto u = at::linalg_solve_triangular(chunk.system, t.beta * wanted, /*upper=*/false, /*left=*/true,
                                               /*unitriangular=*/true);
    auto y = chunk.reads.matmul(u);
    if (state.defined()) y = y + chunk.faded * t.q.matmul(state);
    const auto written = (t.k * chunk.to_end).transpose(-2, -1).matmul(u);
    state = state.defined() ? chunk.faded.slice(2, -1) * state + written : written;
    return y;
  }

  static void note_tokens(const Inputs& in, const Tokens& t) {
    note(in, "q", "queries (batch, n_heads, seq, d_head)", [&] { return t.q; });
    note(in, "k", "keys (batch, n_heads, seq, d_head)", [&] { return t.k; });
    note(in, "v", "values (batch, n_heads, seq, d_value)", [&] { return t.v; });
    note(in, "alpha", "share of the memory that a token keeps (batch, n_heads, seq)",
         [&] { return t.log_alpha.squeeze(-1).exp(); });
    note(in, "beta", "share of the old value that a token replaces (batch, n_heads, seq)",
         [&] { return t.beta.squeeze(-1); });
    if (in.cache != nullptr) return;  // what the memory holds has no weights of its own any more
    note(in, "weights", "factor of each value in the output, all corrections worked in", [&] {
      const Chunk whole(t);
      return at::linalg_solve_triangular(whole.system, whole.reads, /*upper=*/false, /*left=*/false,
                                         /*unitriangular=*/true) *
             t.beta.transpose(-2, -1);  // (batch, n_heads, seq, seq)
    });
  }

  const std::int64_t n_heads_, d_head_, d_value_, conv_size_;
  const double eps_;
  torch::nn::Linear q_proj_{nullptr}, k_proj_{nullptr}, v_proj_{nullptr}, a_proj_{nullptr}, b_proj_{nullptr},
      g_proj_{nullptr}, out_proj_{nullptr};
  torch::nn::Conv1d conv_{nullptr};
  at::Tensor A_log_, dt_bias_, out_norm_;
};

// The rule token by token: no length is written down, and no dtype. Types are numbers here: 5, 6 and 15 are float16,
// float32 and bfloat16.
constexpr auto kForward =
    R"(def forward(self, x, key_mask: Optional[Tensor] = None, document_ids: Optional[Tensor] = None):
    if x.size(0) == 0 or x.size(1) == 0:
        return torch.linear(torch.linear(x, self.g_proj.weight), self.out_proj.weight)
    wide = 6 if x.dtype == 5 or x.dtype == 15 else x.dtype
    q = torch.linear(x, self.q_proj.weight)
    k = torch.linear(x, self.k_proj.weight)
    v = torch.linear(x, self.v_proj.weight)
    qkv = torch.cat([q, k, v], -1).to(wide)
    step = torch.softplus(torch.linear(x, self.a_proj.weight).to(wide) + self.dt_bias.to(wide))
    log_alpha = torch.neg(torch.exp(self.A_log.to(wide))) * step
    beta = torch.sigmoid(torch.linear(x, self.b_proj.weight).to(wide))
    if key_mask is not None:
        hidden = torch.unsqueeze(torch.logical_not(key_mask), -1)
        qkv = torch.masked_fill(qkv, hidden, 0)
        log_alpha = torch.masked_fill(log_alpha, hidden, 0)
        beta = torch.masked_fill(beta, hidden, 0)
    documents = torch.zeros_like(x[:, :, 0], dtype=4)
    if document_ids is not None:
        begins = torch.ne(document_ids[:, 1:], document_ids[:, :-1])
        documents = torch.cumsum(torch.constant_pad_nd(begins.to(4), [1, 0]), 1)
        log_alpha[:, 1:] = torch.masked_fill(log_alpha[:, 1:], begins.unsqueeze(-1), -float('inf'))
    $convolution
    parts = torch.split_with_sizes(torch.silu(qkv), [$d_keys, $d_keys, $d_values], -1)
    q = torch.unflatten(parts[0], -1, [$n_heads, $d_head])
    k = torch.unflatten(parts[1], -1, [$n_heads, $d_head])
    v = torch.unflatten(parts[2], -1, [$n_heads, $d_value])
    q = q * torch.rsqrt(torch.sum(q * q, [-1], True) + $eps) * $scale
    k = k * torch.rsqrt(torch.sum(k * k, [-1], True) + $eps)
    alpha = torch.exp(log_alpha).unsqueeze(-1).unsqueeze(-1)
    beta = beta.unsqueeze(-1).unsqueeze(-1)
    state = k.new_zeros([x.size(0), $n_heads, $d_head, $d_value])
    heads = []
    for t in range(x.size(1)):
        state = alpha[:, t] * state
        key = k[:, t].unsqueeze(-1)
        old = torch.matmul(key.transpose(-2, -1), state)
        state = state + torch.matmul(key, beta[:, t] * (v[:, t].unsqueeze(-2) - old))
        heads.append(torch.matmul(q[:, t].unsqueeze(-2), state).squeeze(-2))
    y = torch.stack(heads, 1)
    y = y * torch.rsqrt(torch.mean(y * y, [-1], True) + $eps) * self.out_norm.to(wide)
    gate = torch.silu(torch.linear(x, self.g_proj.weight))
    return torch.linear(torch.flatten(y, -2).to(x.dtype) * gate, self.out_proj.weight)
)";

constexpr auto kConvolution = R"(longer = torch.constant_pad_nd(qkv, [0, 0, $conv_size - 1, 0])
    filter = self.conv.weight.to(wide)
    if document_ids is None:
        qkv = torch.conv1d(longer.transpose(1, 2), filter, None, [1], [0], [1], $channels).transpose(1, 2)
    else:
        of_longer = torch.constant_pad_nd(documents, [$conv_size - 1, 0], -1)
        qkv = torch.zeros_like(qkv)
        for tap in range($conv_size):
            others = torch.ne(of_longer[:, tap : tap + x.size(1)], documents).unsqueeze(-1)
            part = torch.masked_fill(longer[:, tap : tap + x.size(1)], others, 0)
            qkv = qkv + part * filter[:, 0, tap])";

std::string GatedDelta::torchscript() const {
  const auto exact = [](double value) {
    std::ostringstream text;
    text << std::scientific << std::setprecision(17) << value;
    return text.str();
  };
  return filled_in(kForward, {{"$convolution", conv_size_ > 0 ? kConvolution : "pass"},
                              {"$d_keys", std::to_string(n_heads_ * d_head_)},
                              {"$d_values", std::to_string(n_heads_ * d_value_)},
                              {"$d_value", std::to_string(d_value_)},
                              {"$d_head", std::to_string(d_head_)},
                              {"$n_heads", std::to_string(n_heads_)},
                              {"$conv_size", std::to_string(conv_size_)},
                              {"$channels", std::to_string(channels())},
                              {"$scale", exact(1 / std::sqrt(static_cast<double>(d_head_)))},
                              {"$eps", exact(eps_)}});
}

}  // namespace

HEADWRIGHT_PLUGIN("gated_delta", GatedDelta);

// Projections, heads and rotation, shared by every variant on queries, keys and values.
#include <ATen/ATen.h>

#include <limits>

#include "headwright/attention.h"
#include "headwright/shapes.h"

namespace headwright {
namespace {

constexpr double kStartOfQkScale = 10;  // of l2-normalised q and k, whose products lie within 1

Dims completed(Dims dims, const QkvOptions& options) {
  dims.d_head = d_head_of(dims);
  if (!options.cross) dims.d_memory = dims.d_model;
  if (dims.d_memory == 0) dims.d_memory = dims.d_model;
  return dims;
}

auto linear(std::int64_t in, std::int64_t out, bool bias) {
  return torch::nn::Linear(torch::nn::LinearOptions(in, out).bias(bias));
}

void expect_sequence(std::string_view name, const at::Tensor& x, std::string_view width_name, std::int64_t width) {
  if (x.defined() && x.dim() == 3 && x.size(2) == width) return;
  refuse_shape("attention", name, x,
               "(batch, length, " + std::string(width_name) + " = " + std::to_string(width) + ")");
}

/// mask: (batch, keys), or undefined.
void expect_of_tokens(std::string_view name, const at::Tensor& mask, at::ScalarType type, std::string_view expected,
                      const at::Tensor& of, std::string_view of_name, std::int64_t before) {
  if (!mask.defined()) return;
  if (mask.dim() != 2 || mask.size(0) != of.size(0) || mask.size(1) != of.size(1) + before) {
    refuse_shape("attention", name, mask,
                 "(batch, length) of " + std::string(of_name) + " " + shape_text(of) +
                     (before > 0 ? " and the " + std::to_string(before) + " tokens in the cache" : ""));
  }
  if (mask.scalar_type() != type) {
    throw ShapeError("[attention] " + std::string(name) + ": got dtype " + std::string(toString(mask.scalar_type())) +
                     ", expected " + std::string(expected));
  }
}

}  // namespace

QkvAttention::~QkvAttention() = default;

QkvAttention::QkvAttention(const Dims& dims, const QkvOptions& options)
    : dims_(completed(dims, options)), options_(options) {
  const auto d_q = dims_.n_heads * dims_.d_head;
  const auto d_kv = dims_.n_kv_heads * dims_.d_head;
  q_proj_ = register_module("q_proj", linear(dims_.d_model, d_q, options.qkv_bias));
  k_proj_ = register_module("k_proj", linear(dims_.d_memory, d_kv, options.qkv_bias));
  v_proj_ = register_module("v_proj", linear(dims_.d_memory, d_kv, options.qkv_bias));
  out_proj_ = register_module("out_proj", linear(d_q, dims_.d_model, options.out_bias));
  if (options.qk_norm == "rms") {
    q_norm_ = register_parameter("q_norm", at::ones({dims_.d_head}));
    k_norm_ = register_parameter("k_norm", at::ones({dims_.d_head}));
  } else if (options.qk_norm == "l2") {
    qk_scale_ = register_parameter("qk_scale", at::full({dims_.n_heads, 1, 1}, kStartOfQkScale));
  }
  position_ = make_position(options.position, dims_);
  if (!position_) return;
  register_module("position", position_);
  const auto claims = options.position.variant->claims(dims_, options.position.values);
  rotates_ = claims.rotate;
  biases_ = claims.bias;
}

at::Tensor QkvAttention::forward(const Inputs& inputs) {
  const bool cross = options_.cross;
  check_inputs(inputs);
  const auto& source = cross ? inputs.memory : inputs.x;
  auto q = split_heads(q_proj_(inputs.x), dims_.n_heads);   // (batch, n_heads, seq, d_head)
  auto k = split_heads(k_proj_(source), dims_.n_kv_heads);  // (batch, n_kv_heads, keys, d_head)
  auto v = split_heads(v_proj_(source), dims_.n_kv_heads);
  std::tie(q, k) = normed(q, k);
  if (rotates_) {
    const auto own = positions_of(inputs);
    std::tie(q, k) = position_->rotate(q, k, own, cross ? positions_along(source, 1) : own);
  }
  if (inputs.cache != nullptr) std::tie(k, v) = appended(inputs, k, v);
  note(inputs, "q", "queries (batch, n_heads, seq, d_head)", [&] { return q; });
  note(inputs, "k", "keys (batch, n_kv_heads, keys, d_head)", [&] { return k; });
  note(inputs, "v", "values (batch, n_kv_heads, keys, d_head)", [&] { return v; });
  const auto heads = mix(q, k, v, inputs);  // (batch, n_heads, seq, d_head)
  if (inputs.cache != nullptr) advance(inputs);
  note(inputs, "heads", "output of each head (batch, n_heads, seq, d_head)", [&] { return heads; });
  return out_proj_(merge_heads(heads));  // (batch, seq, d_model)
}

void QkvAttention::check_inputs(const Inputs& inputs) const {
  expect_sequence("x", inputs.x, "d_model", dims_.d_model);
  const auto before = inputs.cache == nullptr ? 0 : inputs.cache->tokens();
  expect_of_tokens("key_mask", inputs.key_mask, at::kBool, "bool, true = visible", inputs.x, "x", before);
  expect_of_tokens("document_ids", inputs.document_ids, at::kLong, "int64", inputs.x, "x", before);
  if (!options_.cross) return;
  if (!inputs.memory.defined()) {
    throw InputError(
        "[attention] memory: got nothing, expected the sequence that cross-attention reads; give `memory`");
  }
  if (inputs.cache != nullptr) throw InputError("[attention] cache: cross-attention has none; give the whole memory");
  expect_sequence("memory", inputs.memory, "d_memory", dims_.d_memory);
  if (inputs.memory.size(0) != inputs.x.size(0)) {
    refuse_shape("attention", "memory", inputs.memory, "the batch size of x " + shape_text(inputs.x));
  }
  expect_of_tokens("memory_mask", inputs.memory_mask, at::kBool, "bool, true = visible", inputs.memory, "memory", 0);
}

/// Source: rms, Team Qwen 2025, arXiv:2505.09388, section 2; l2, Henry et al. 2020, arXiv:2010.04245.
std::pair<at::Tensor, at::Tensor> QkvAttention::normed(const at::Tensor& q, const at::Tensor& k) const {
  const double eps = options_.qk_norm_eps;
  if (q_norm_.defined()) {
    return {at::rms_norm(q, {dims_.d_head}, q_norm_, eps), at::rms_norm(k, {dims_.d_head}, k_norm_, eps)};
  }
  if (!qk_scale_.defined()) return {q, k};
  const auto unit = [&](const at::Tensor& x) {  // a square is out of the range of a half type at once
    return (wide(x) * wide(x).square().sum(-1, true).add(eps).rsqrt()).to(x.scalar_type());
  };
  return {unit(q) * qk_scale_, unit(k)};
}

/// A position's bias also needs to know where each key stands.
Cache QkvAttention::make_cache(std::int64_t batch, std::int64_t capacity) const {
  if (options_.cross) return Attention::make_cache(batch, capacity);
  const auto room = std::min(capacity, mask().look_back().value_or(capacity));  // tokens
  const auto options = k_proj_->weight.options().requires_grad(false);
  const auto k = at::zeros({batch, dims_.n_kv_heads, room, dims_.d_head}, options);
  Cache cache{.tensors = {{"k", k}, {"v", k.clone()}}, .length = at::zeros({}, at::kLong)};
  if (biases_) cache.tensors.emplace_back("positions", at::zeros({batch, room}, options.dtype(at::kLong)));
  return cache;
}

/// What the layer keeps, and the new tokens behind it.
std::pair<at::Tensor, at::Tensor> QkvAttention::appended(const Inputs& inputs, const at::Tensor& k,
                                                         const at::Tensor& v) const {
  const auto behind = keeps_last(*inputs.cache) ? slide : extend;
  return {behind(*inputs.cache, "k", k, 2), behind(*inputs.cache, "v", v, 2)};
}

/// After mix(), which saw the cache as it was.
void QkvAttention::advance(const Inputs& inputs) const {
  auto& cache = *inputs.cache;
  if (biases_) {
    const auto positions = positions_of(inputs).expand({inputs.x.size(0), inputs.x.size(1)});
    (keeps_last(cache) ? slide : extend)(cache, "positions", positions, 1);
  }
  cache.length.add_(inputs.x.size(1));
}

bool QkvAttention::keeps_last(Cache& cache) const {
  const auto back = mask().look_back();
  return back && cache.at("k").size(2) == *back;
}

/// How many keys the tokens of x see at most: those that the cache keeps, and their own.
std::int64_t QkvAttention::kept_and_new(const Inputs& inputs) const {
  const auto held = inputs.cache->tokens();
  return (keeps_last(*inputs.cache) ? std::min(held, inputs.cache->at("k").size(2)) : held) + inputs.x.size(1);
}

Scoring QkvAttention::scoring(const Inputs& inputs) const {
  auto scoring = scoring_of_run(inputs, dims_, options_.cross);
  if (qk_scale_.defined()) scoring.scale = 1;  // the learned one stands in its place
  const auto keys = inputs.cache == nullptr ? 0 : kept_and_new(inputs);
  if (keys > 0) {
    for (auto* of_keys : {&scoring.key_mask, &scoring.document_ids}) {
      if (of_keys->defined()) *of_keys = of_keys->slice(1, of_keys->size(1) - keys);
    }
  }
  if (!biases_) return scoring;
  scoring.modifiers.push_back(position_->bias());
  if (keys > 0) {
    scoring.q_positions = positions_of(inputs);
    const auto before = keys - inputs.x.size(1);
    const auto& kept = inputs.cache->at("positions");
    const auto begin = keeps_last(*inputs.cache) ? kept.size(1) - before : 0;
    const auto own = scoring.q_positions.expand({inputs.x.size(0), inputs.x.size(1)});
    scoring.k_positions = at::cat({kept.slice(1, begin, begin + before), own}, 1);  // (batch, keys)
    return scoring;
  }
  if (options_.cross && inputs.memory.defined()) {  // each sequence counts from its own start, as in a rotation
    scoring.q_positions = positions_of(inputs);
    scoring.k_positions = positions_along(inputs.memory, 1);
  } else if (inputs.positions.defined()) {
    scoring.q_positions = scoring.k_positions = inputs.positions;
  }
  return scoring;
}

Scoring QkvAttention::scoring(const Inputs& inputs, const ScoreOptions& options) const {
  auto scoring = this->scoring(inputs);
  if (options.scale) scoring.scale = options.scale;
  scoring.mask = options.mask;
  const auto before = options.bias_order == "first" ? scoring.modifiers.end() : scoring.modifiers.begin();
  scoring.modifiers.insert(before, options.modifiers.begin(), options.modifiers.end());
  scoring.dropout = is_training() ? options.dropout : 0;
  return scoring;
}

Claims QkvAttention::score_claims(const Dims& dims, const ScoreOptions& options) {
  const bool causal = options.mask.hides_future() && !options.cross;
  const auto* position = options.position.variant;
  const bool by_length = position != nullptr && position->claims(dims, options.position.values).by_length;
  return {.causal = causal,
          .memory = options.cross,
          .key_mask = true,
          .core = true,
          .cost = "O(seq^2 d_model)",
          .cache = causal && !options.mask.reads_length() && !by_length,
          .document_ids = options.mask.reads_documents(),
          .positions = static_cast<bool>(options.position),
          .reads = {.n_heads = true, .n_kv_heads = true, .d_head = true, .d_memory = options.cross}};
}

void QkvAttention::check_scores(const Dims& dims, const ScoreOptions& options, Issues& issues) {
  check_options(dims, options, issues);
  const auto* position = options.position.variant;
  const bool biases = position != nullptr && position->claims(dims, options.position.values).bias;
  if (options.bias_order == "last" && (!biases || options.modifiers.empty())) {
    issues.add("bias_order", "has no effect without both modifiers and a position that changes scores");
  }
  if (options.scale && *options.scale > std::numeric_limits<float>::max()) {
    issues.add("scale", "got a number that float32, in which scores are made, does not hold");
  }
  if (options.scale && options.qk_norm == "l2") {
    issues.add("scale", "has no place beside qk_norm: l2, which learns a scale for each head");
  }
  if (options.cross && options.mask.reads_documents()) {
    issues.add("mask", "got document, but a memory has no document ids");
  }
}

void QkvAttention::check_options(const Dims& dims, const QkvOptions& options, Issues& issues) {
  if (options.qk_norm == "none" && options.qk_norm_eps != QkvOptions{}.qk_norm_eps) {
    issues.add("qk_norm_eps", "has no effect without qk_norm; leave it out, or give qk_norm: rms or l2");
  }
  const auto* position = options.position.variant;
  if (position == nullptr) return;
  const auto claims = position->claims(dims, options.position.values);
  if (!claims.rotate && !claims.bias) {
    issues.add("position", "got '" + position->name +
                               "', which neither rotates q and k nor changes scores; expected one that does, such "
                               "as rope or alibi");
  }
  check_nested(options.position, dims, "position", issues);
}

void QkvAttention::check_heads(const Dims& dims, Issues& issues) {
  const auto got = [](std::int64_t number) { return "got " + std::to_string(number); };
  if (dims.n_heads < 1) issues.add("n_heads", got(dims.n_heads) + ", expected at least 1");
  if (dims.n_kv_heads < 1) issues.add("n_kv_heads", got(dims.n_kv_heads) + ", expected at least 1");
  if (dims.n_heads < 1 || dims.n_kv_heads < 1) return;
  if (dims.n_heads % dims.n_kv_heads != 0) {
    issues.add("n_heads",
               got(dims.n_heads) + ", but n_kv_heads = " + std::to_string(dims.n_kv_heads) + " does not divide it");
  }
  if (dims.d_head == 0 && dims.d_model % dims.n_heads != 0) {
    issues.add("d_model", got(dims.d_model) + ", but n_heads = " + std::to_string(dims.n_heads) +
                              " does not divide it; change one of them, or give d_head");
  }
}

}  // namespace headwright

// Projections, heads and rotation, shared by every variant on queries, keys and values.
#include <ATen/ATen.h>

#include "headwright/attention.h"
#include "headwright/shapes.h"

namespace headwright {
namespace {

Dims completed(Dims dims, const QkvOptions& options) {
  if (dims.d_head == 0 && dims.n_heads > 0) dims.d_head = dims.d_model / dims.n_heads;
  if (!options.cross) dims.d_context = dims.d_model;
  if (dims.d_context == 0) dims.d_context = dims.d_model;
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

/// mask: (batch, keys) bool, or undefined.
void expect_mask(std::string_view name, const at::Tensor& mask, std::string_view of_name, const at::Tensor& of) {
  if (!mask.defined()) return;
  if (mask.dim() != 2 || mask.size(0) != of.size(0) || mask.size(1) != of.size(1)) {
    refuse_shape("attention", name, mask, "(batch, length) of " + std::string(of_name) + " " + shape_text(of));
  }
  if (mask.scalar_type() != at::kBool) {
    throw ShapeError("[attention] " + std::string(name) + ": got dtype " + std::string(toString(mask.scalar_type())) +
                     ", expected bool, true = visible");
  }
}

}  // namespace

QkvAttention::~QkvAttention() = default;

QkvAttention::QkvAttention(const Dims& dims, const QkvOptions& options)
    : dims_(completed(dims, options)), cross_(options.cross) {
  const auto d_q = dims_.n_heads * dims_.d_head;
  const auto d_kv = dims_.n_kv_heads * dims_.d_head;
  q_proj_ = register_module("q_proj", linear(dims_.d_model, d_q, options.qkv_bias));
  k_proj_ = register_module("k_proj", linear(dims_.d_context, d_kv, options.qkv_bias));
  v_proj_ = register_module("v_proj", linear(dims_.d_context, d_kv, options.qkv_bias));
  out_proj_ = register_module("out_proj", linear(d_q, dims_.d_model, options.out_bias));
  position_ = make_position(options.position, dims_);
  if (position_) register_module("position", position_);
}

at::Tensor QkvAttention::forward(const Inputs& inputs) {
  expect_sequence("x", inputs.x, "d_model", dims_.d_model);
  if (cross_ && !inputs.context.defined()) {
    throw InputError(
        "[attention] context: got nothing, expected the sequence that cross-attention reads; give `context`");
  }
  const auto& source = cross_ ? inputs.context : inputs.x;
  if (cross_) {
    expect_sequence("context", source, "d_context", dims_.d_context);
    if (source.size(0) != inputs.x.size(0)) {
      refuse_shape("attention", "context", source, "the batch size of x " + shape_text(inputs.x));
    }
  }
  expect_mask("key_mask", inputs.key_mask, "x", inputs.x);
  expect_mask("context_mask", cross_ ? inputs.context_mask : at::Tensor(), "context", source);

  auto q = split_heads(q_proj_(inputs.x), dims_.n_heads);   // (batch, n_heads, seq, d_head)
  auto k = split_heads(k_proj_(source), dims_.n_kv_heads);  // (batch, n_kv_heads, keys, d_head)
  const auto v = split_heads(v_proj_(source), dims_.n_kv_heads);
  if (position_) {
    const auto own = inputs.positions.defined() ? inputs.positions : positions_along(inputs.x, 1);
    std::tie(q, k) = position_->rotate(q, k, own, cross_ ? positions_along(source, 1) : own);
  }
  note(inputs, "q", "queries (batch, n_heads, seq, d_head)", [&] { return q; });
  note(inputs, "k", "keys (batch, n_kv_heads, keys, d_head)", [&] { return k; });
  note(inputs, "v", "values (batch, n_kv_heads, keys, d_head)", [&] { return v; });
  const auto heads = mix(q, k, v, inputs);  // (batch, n_heads, seq, d_head)
  note(inputs, "heads", "output of each head (batch, n_heads, seq, d_head)", [&] { return heads; });
  return out_proj_(merge_heads(heads));  // (batch, seq, d_model)
}

Scoring QkvAttention::scoring(const Inputs& inputs) const {
  Scoring scoring;
  scoring.key_mask = cross_ ? inputs.context_mask : inputs.key_mask;
  scoring.same_sequence = !cross_;
  scoring.kernel = dims_.kernel;
  return scoring;
}

void QkvAttention::check_heads(const Dims& dims, Complaints& complaints) {
  const auto got = [](std::int64_t number) { return "got " + std::to_string(number); };
  if (dims.n_heads < 1) complaints.add("n_heads", got(dims.n_heads) + ", expected at least 1");
  if (dims.n_kv_heads < 1) complaints.add("n_kv_heads", got(dims.n_kv_heads) + ", expected at least 1");
  if (dims.n_heads < 1 || dims.n_kv_heads < 1) return;
  if (dims.n_heads % dims.n_kv_heads != 0) {
    complaints.add("n_heads",
                   got(dims.n_heads) + ", but n_kv_heads = " + std::to_string(dims.n_kv_heads) + " does not divide it");
  }
  if (dims.d_head == 0 && dims.d_model % dims.n_heads != 0) {
    complaints.add("d_model", got(dims.d_model) + ", but n_heads = " + std::to_string(dims.n_heads) +
                                  " does not divide it; change one of them, or give d_head");
  }
}

}  // namespace headwright

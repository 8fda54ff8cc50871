// Makes a variant of any kind, draws inputs for it, and calls it.
#include "check/subject.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <iomanip>
#include <limits>
#include <sstream>

#include "headwright/embedding.h"
#include "headwright/feed_forward.h"
#include "headwright/head.h"
#include "headwright/norm.h"
#include "headwright/shapes.h"

namespace headwright::check {
namespace {

constexpr std::int64_t kContextLength = 5;  // other than any sequence's, so that a mix-up shows

std::int64_t within(std::int64_t length, const Dims& dims) {
  return dims.context_length > 0 ? std::min(length, dims.context_length) : length;
}

template <class Base>
Base& as(torch::nn::Module& module) {
  auto* base = dynamic_cast<Base*>(&module);
  if (base == nullptr) throw Error("the variant made a module of another kind than it declares");
  return *base;
}

/// What an embedding takes; undefined = nothing.
at::Tensor drawn_for_embedding(const Claims& claims, std::int64_t batch, std::int64_t seq) {
  std::vector<std::int64_t> shape{batch};
  switch (claims.takes) {
    case Takes::tokens:
      return at::randint(0, std::max<std::int64_t>(claims.vocab_size, 1), {batch, seq}, at::kLong);
    case Takes::features:
      shape.push_back(seq);
      break;
    case Takes::images:
      break;
    case Takes::nothing:
      return {};
  }
  shape.insert(shape.end(), claims.item_shape.begin(), claims.item_shape.end());
  return at::randn(shape, at::kDouble);
}

}  // namespace

Subject::Subject(const VariantSpec& variant_, const Dims& dims_, const ParamMap& values_)
    : variant(variant_), dims(dims_), values(values_), claims(variant_.claims(dims_, values_)) {}

Subject Subject::with(const std::string& row, const Value& value) const {
  auto changed = values;
  for (auto& [name, old] : changed) {
    if (name == row) old = value;
  }
  return {variant, dims, changed};
}

const ParamSpec* Subject::row(const std::string& name, ParamType type) const {
  const auto found = std::ranges::find_if(
      variant.params, [&](const ParamSpec& row) { return row.name == name && row.type == type && !row.is_list; });
  return found == variant.params.end() ? nullptr : &*found;
}

Subject Subject::with_dropout() const {
  return row("dropout", ParamType::number) == nullptr ? *this : with("dropout", Value{0.5});
}

Module Subject::make(at::ScalarType dtype, std::uint64_t seed) const {
  at::manual_seed(seed);
  auto module = variant.make(dims, values);
  if (module == nullptr) throw Error("the variant made nothing");
  if (claims.tied) tie(*module);
  module->to(dtype);
  module->eval();
  return module;
}

void Subject::tie(torch::nn::Module& module) const {
  const auto rows = variant.kind == Kind::head ? d_out() : dims.vocab_size;
  const auto matrix = at::randn({rows, dims.d_model}).requires_grad_();
  if (variant.kind == Kind::head) as<Head>(module).tie(matrix);
  else as<Embedding>(module).tie(matrix);
}

std::string Subject::kernel_obstacle(bool training) const {
  if (!claims.core || dims.kernel == "auto") return "";
  const auto module = make();
  module->train(training);
  try {
    as<Attention>(*module).kernel();
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

Inputs Subject::draw(std::int64_t batch, std::int64_t seq, std::uint64_t seed) const {
  at::manual_seed(seed);
  Inputs inputs;
  if (variant.kind == Kind::embedding) {
    inputs.x = drawn_for_embedding(claims, batch, seq);
  } else {
    inputs.x = at::randn({batch, seq, d_in()}, at::kDouble);
  }
  const auto d_memory = dims.d_memory > 0 ? dims.d_memory : dims.d_model;
  const bool latents = variant.kind == Kind::embedding && claims.takes == Takes::nothing;
  if (claims.memory || latents) inputs.memory = at::randn({batch, kContextLength, d_memory}, at::kDouble);
  return inputs;
}

bool Subject::per_token() const {
  if (variant.kind == Kind::head) return !claims.pools;
  return variant.kind != Kind::embedding || claims.takes == Takes::tokens || claims.takes == Takes::features;
}

at::Tensor Subject::call(torch::nn::Module& module, const Inputs& inputs) const {
  switch (variant.kind) {
    case Kind::attention:
      return as<Attention>(module).forward(inputs);
    case Kind::feed_forward:
      return as<FeedForward>(module).forward(inputs.x);
    case Kind::norm:
      return as<Norm>(module).forward(inputs.x);
    case Kind::embedding:
      return as<Embedding>(module).forward(inputs);
    case Kind::head:
      return as<Head>(module).forward(inputs);
    case Kind::position:
      break;
  }
  return place(as<Position>(module), inputs);
}

at::Tensor Subject::place(Position& position, const Inputs& inputs) const {
  const auto positions = inputs.positions.defined() ? inputs.positions : positions_along(inputs.x, 1);
  auto y = inputs.x;
  if (claims.embed) y = position.embed(y, positions);
  if (claims.rotate) {
    const auto heads = split_heads(y, dims.n_heads);
    const auto [q, k] = position.rotate(heads, heads.slice(1, 0, dims.n_kv_heads), positions, positions);
    y = merge_heads(at::cat({q, k}, 1));  // (batch, seq, (n_heads + n_kv_heads) * d_head)
  }
  if (claims.bias) {  // seen through an attention whose queries, keys and values are x
    const auto heads = split_heads(y, dims.n_heads);
    const Scoring scoring{.modifiers = {position.bias()}, .q_positions = positions, .k_positions = positions};
    y = merge_heads(attend(heads, heads, heads, scoring).y);
  }
  return y;
}

std::int64_t Subject::longest() const { return within(7, dims); }

std::int64_t Subject::many() const { return within(131, dims); }

std::int64_t Subject::d_in() const {
  if (claims.rotate && dims.d_head > 0) return dims.n_heads * dims.d_head;
  // Scores are those of heads of any width: a position that changes them need not know one.
  const bool of_scores = claims.bias && !claims.embed && dims.d_model % dims.n_heads != 0;
  return of_scores ? dims.n_heads * 4 : dims.d_model;
}

std::int64_t Subject::d_out() const {
  if (claims.rotate) return d_in() / dims.n_heads * (dims.n_heads + dims.n_kv_heads);
  if (variant.kind == Kind::position) return d_in();
  return claims.d_out > 0 ? claims.d_out : dims.d_model;
}

std::string amount(double difference) {
  std::ostringstream text;
  text << std::setprecision(3) << difference;
  return text.str();
}

std::string message_of(const std::exception& error) {
  const auto* of_torch = dynamic_cast<const c10::Error*>(&error);  // whose what() ends in a backtrace
  return of_torch != nullptr ? of_torch->what_without_backtrace() : error.what();
}

double difference(const at::Tensor& a, const at::Tensor& b) {
  if (a.sizes() != b.sizes())
    throw ShapeError("got " + shape_text(a) + " and " + shape_text(b) + ", expected one shape");
  if (a.numel() == 0) return 0;
  const auto largest = (a - b).abs().max().item().toDouble();
  return std::isfinite(largest) ? largest : std::numeric_limits<double>::infinity();
}

Inputs cast(Inputs inputs, at::ScalarType dtype) {
  for (auto* tensor : {&inputs.x, &inputs.memory}) {
    if (tensor->defined() && tensor->is_floating_point()) *tensor = tensor->to(dtype);
  }
  return inputs;
}

bool all_finite(const at::Tensor& x) { return x.isfinite().all().item<bool>(); }

}  // namespace headwright::check

// Properties of single tokens: which of them may influence which.
#include <ATen/ATen.h>

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "check/properties.h"
#include "check/tokens.h"

namespace headwright::check {
namespace {

/// Every second token, and the last one, hidden in the first row; nothing in the second.
at::Tensor holes(std::int64_t keys) {
  auto visible = at::ones({2, keys}, at::kBool);
  visible.select(0, 0).slice(0, 0, keys, 2).fill_(false);
  visible.select(0, 0).select(0, keys - 1).fill_(false);
  return visible;
}

void set_mask(const Subject& subject, Inputs& inputs, const at::Tensor& mask) {
  (subject.claims.memory ? inputs.memory_mask : inputs.key_mask) = mask;
}

/// The rows and values that give a variant a window of `size` keys.
std::vector<std::pair<const ParamSpec*, Value>> windows(const Subject& subject, std::int64_t size) {
  std::vector<std::pair<const ParamSpec*, Value>> ways;
  if (const auto* row = subject.row("window_size", ParamType::integer)) ways.emplace_back(row, Value{size});
  if (const auto* row = subject.row("mask", ParamType::mask)) ways.emplace_back(row, Value{Mask::window(size)});
  return ways;
}

/// The tokens that change the output of the last one.
std::set<std::int64_t> seen_by_the_last(const Subject& subject, torch::nn::Module& module, std::uint64_t seed) {
  const auto length = subject.longest(), last = length - 1;
  const auto inputs = subject.draw(2, length, seed);
  const auto y = subject.call(module, inputs);
  std::set<std::int64_t> seen;
  for (std::int64_t token = 0; token < length; ++token) {
    if (first_difference(y, subject.call(module, with_other_token(inputs, token)), last, length) >= 0) {
      seen.insert(token);
    }
  }
  return seen;
}

/// Over several inputs, since a variant that picks keys within its window may pass over one of them in some.
std::string window_fault(const Subject& subject, std::int64_t size) {
  constexpr std::uint64_t kInputs = 16;
  const auto expected = static_cast<std::size_t>(std::min(size, subject.longest()));
  const auto module = subject.make();
  std::set<std::int64_t> seen;
  for (std::uint64_t seed = 7; seed < 7 + kInputs && seen.size() < expected; ++seed) {
    seen.merge(seen_by_the_last(subject, *module, seed));
  }
  const auto last = subject.longest() - 1;
  if (seen.size() == expected && *seen.begin() == last - static_cast<std::int64_t>(expected) + 1) return "";
  std::string text;
  for (const auto token : seen) text += (text.empty() ? "" : ", ") + std::to_string(token);
  return std::to_string(size) + " the token at position " + std::to_string(last) + " sees " +
         std::to_string(seen.size()) + " keys: " + text;
}

}  // namespace

std::int64_t first_difference(const at::Tensor& a, const at::Tensor& b, std::int64_t begin, std::int64_t end) {
  for (auto position = begin; position < end; ++position) {
    if (difference(a.select(1, position), b.select(1, position)) > kFloat64Noise) return position;
  }
  return -1;
}

Inputs with_other_token(const Inputs& inputs, std::int64_t token) {
  auto changed = inputs;
  changed.x = inputs.x.clone();
  auto row = changed.x.select(1, token);
  if (row.is_floating_point()) row.neg_().add_(3);
  else row.copy_(row.eq(0));  // another id, whatever it was
  return changed;
}

std::string causal(const Subject& subject) {
  const auto module = subject.make();
  const at::NoGradGuard no_grad;
  // Every token of a short sequence, then those where the chunks of a long one meet.
  for (const auto& [length, step] :
       {std::pair{subject.longest(), std::int64_t{1}}, {subject.many(), subject.many() / 8}}) {
    const auto inputs = subject.draw(2, length);
    const auto y = subject.call(*module, inputs);
    auto first = length;
    std::int64_t cause = 0;
    for (std::int64_t token = length - 1; token > 0; token -= std::max<std::int64_t>(1, step)) {
      const auto leaking = first_difference(y, subject.call(*module, with_other_token(inputs, token)), 0, token);
      if (leaking < 0 || leaking > first) continue;
      first = leaking;
      cause = token;
    }
    if (cause == 0) continue;
    return "first leak: the output at position " + std::to_string(first) + " depends on the later token " +
           std::to_string(cause);
  }
  return "";
}

std::string key_mask(const Subject& subject) {
  const auto module = subject.make();
  auto inputs = subject.draw(2, subject.longest());
  const auto& source = subject.claims.memory ? inputs.memory : inputs.x;
  const auto visible = holes(source.size(1));
  const auto hidden = visible.logical_not().unsqueeze(-1);  // (batch, keys, 1)
  set_mask(subject, inputs, visible);
  auto changed = inputs;
  (subject.claims.memory ? changed.memory : changed.x) = at::where(hidden, source.neg() + 3, source);
  auto far = (subject.call(*module, inputs) - subject.call(*module, changed)).abs();
  if (!subject.claims.memory) far = far.masked_fill(hidden, 0);  // a hidden token may still ask
  if (const auto most = far.max().item<double>(); !(most <= kFloat64Noise)) {
    return "a hidden token influences the output of a visible one, by " + amount(most);
  }

  auto unmasked = inputs, all_visible = inputs;
  set_mask(subject, unmasked, {});
  set_mask(subject, all_visible, at::ones_like(visible));
  if (difference(subject.call(*module, unmasked), subject.call(*module, all_visible)) <= kFloat64Noise) return "";
  return "a mask that hides nothing changes the output";
}

std::string padding(const Subject& subject) {
  const auto module = subject.make();
  for (const auto length : {subject.longest(), subject.many()}) {
    auto padded = subject.draw(2, length), alone = padded;
    auto& kept = subject.claims.memory ? alone.memory : alone.x;
    const auto keys = kept.size(1);
    if (keys < 2) continue;
    auto visible = at::ones({2, keys}, at::kBool);
    visible.slice(1, keys / 2).fill_(false);
    set_mask(subject, padded, visible);
    kept = kept.slice(1, 0, keys / 2);
    const auto y = subject.call(*module, alone);
    const auto first = first_difference(y, subject.call(*module, padded), 0, y.size(1));
    if (first >= 0) return "hidden tokens behind a sequence change the output at position " + std::to_string(first);
  }
  return "";
}

namespace {

/// Says which token of the row that sees nothing reads others than itself: as a query it may ask, and what it asks may
/// be a part of what comes out. What is hidden of a memory is no query.
std::string hidden_token_read(const Subject& subject, torch::nn::Module& module, const Inputs& inputs) {
  const at::NoGradGuard no_grad;
  const auto y = subject.call(module, inputs).select(0, 1);
  const auto& source = subject.claims.memory ? inputs.memory : inputs.x;
  for (std::int64_t token = 0; token < source.size(1); ++token) {
    auto changed = inputs;
    (subject.claims.memory ? changed.memory : changed.x) = with_other_token({.x = source}, token).x;
    auto far = (y - subject.call(module, changed).select(0, 1)).abs().amax(-1);  // (seq)
    if (!subject.claims.memory) far = far.masked_fill(at::arange(far.size(0)).eq(token), 0);
    if (const auto most = far.max().item<double>(); !(most <= kFloat64Noise)) {
      return "a row that sees nothing reads hidden tokens: token " + std::to_string(token) +
             " changes the output of others by " + amount(most);
    }
  }
  return "";
}

}  // namespace

std::string empty_rows(const Subject& subject) {
  const auto module = subject.make();
  auto inputs = subject.draw(2, subject.longest());
  const auto keys = (subject.claims.memory ? inputs.memory : inputs.x).size(1);
  auto visible = at::ones({2, keys}, at::kBool);
  visible.select(0, 1).fill_(false);
  set_mask(subject, inputs, visible);
  auto changed = inputs;
  auto& hidden = subject.claims.memory ? changed.memory : changed.x;
  hidden = hidden.neg() + 3;
  const auto of_others = subject.call(*module, changed).select(0, 1);
  inputs.x.requires_grad_(true);
  if (inputs.memory.defined()) inputs.memory.requires_grad_(true);
  const auto y = subject.call(*module, inputs);
  if (!all_finite(y)) return "a row that sees nothing gives NaN or infinity";
  if (difference(y.select(0, 1), of_others) > kFloat64Noise) {
    if (const auto fault = hidden_token_read(subject, *module, inputs); !fault.empty()) return fault;
  }
  if (!subject.claims.differentiable) return "";
  y.square().sum().backward();
  for (const auto& item : module->named_parameters()) {
    const auto& gradient = item.value().grad();
    if (gradient.defined() && !all_finite(gradient))
      return "a row that sees nothing makes the gradient of " + item.key() + " NaN or infinite";
  }
  for (const auto& x : {inputs.x, inputs.memory}) {
    if (x.defined() && x.grad().defined() && !all_finite(x.grad())) {
      return "a row that sees nothing makes the gradient of the inputs NaN or infinite";
    }
  }
  return "";
}

std::string window(const Subject& subject) {
  for (const std::int64_t size : {1, 2, 3}) {
    for (const auto& [row, value] : windows(subject, size)) {
      const auto sized = subject.with(row->name, value);
      if (is_refused(subject, *row, value) || !sized.kernel_obstacle().empty()) continue;
      if (row->type == ParamType::integer && !sized.claims.causal) continue;  // then it may look ahead
      const std::string given = row->type == ParamType::mask ? "mask: window " : row->name + " ";
      if (const auto fault = window_fault(sized, size); !fault.empty()) return "with " + given + fault;
    }
  }
  return "";
}

std::string mask_told(const Subject& subject) {
  const auto module = subject.make();
  const auto& attention = dynamic_cast<const Attention&>(*module);
  const auto mask = attention.mask();
  const at::NoGradGuard no_grad;
  const auto inputs = subject.draw(1, subject.longest());
  const auto& source = subject.claims.memory ? inputs.memory : inputs.x;
  const auto y = subject.call(*module, inputs);
  const auto heads = at::zeros({1, 1, y.size(1), 1}), keys = at::zeros({1, 1, source.size(1), 1});
  const auto visible = visible_keys(heads, keys, {.mask = mask});
  if (!visible.defined()) return "";
  const auto shown = visible.expand({1, 1, y.size(1), source.size(1)})[0][0];
  for (std::int64_t token = 0; token < source.size(1); ++token) {
    auto changed = inputs;
    (subject.claims.memory ? changed.memory : changed.x) = with_other_token({.x = source}, token).x;
    auto read = (subject.call(*module, changed) - y).abs().amax(-1)[0].gt(kFloat64Noise);  // (seq) bool
    if (!subject.claims.memory) read[token] = false;                                       // a token may always ask
    read = read.logical_and(shown.select(1, token).logical_not());
    if (!read.any().item<bool>()) continue;
    return "the output at position " + std::to_string(read.nonzero()[0].item<std::int64_t>()) + " reads token " +
           std::to_string(token) + ", which mask() = " + mask.to_string() + " hides";
  }
  return "";
}

std::string tokens_independent(const Subject& subject) {
  const auto module = subject.make();
  const auto length = subject.longest();
  const auto inputs = subject.draw(2, length);
  const auto y = subject.call(*module, inputs);
  for (std::int64_t token = 0; token < length; ++token) {
    const auto changed = subject.call(*module, with_other_token(inputs, token));
    auto other = first_difference(y, changed, 0, token);
    if (other < 0) other = first_difference(y, changed, token + 1, length);
    if (other >= 0)
      return "the output at position " + std::to_string(other) + " depends on token " + std::to_string(token);
  }
  return "";
}

std::string kept_as_it_grows(const Subject& subject) {
  const auto module = subject.make();
  const auto inputs = subject.draw(2, subject.many());
  const auto length = inputs.x.size(1), few = std::min(subject.longest(), length / 2);
  auto shorter = inputs;
  shorter.x = inputs.x.slice(1, 0, few);
  const auto far = difference(subject.call(*module, shorter), subject.call(*module, inputs).slice(1, 0, few));
  const bool by_length = far > kFloat64Noise;
  if (by_length == subject.claims.by_length || length < 2) return "";
  if (!by_length) return "it claims by_length, and a token gets the same whatever comes after it";
  return "what a token gets depends on the tokens after it, by " + amount(far) +
         ", and the claims do not say by_length";
}

std::string positions_followed(const Subject& subject) {
  const auto module = subject.make();
  const auto length = subject.longest();
  const auto inputs = subject.draw(2, length);
  const auto y = subject.call(*module, inputs);

  auto batched = inputs;
  batched.positions = at::arange(length).expand({2, length});
  if (const auto far = difference(subject.call(*module, batched), y); far > kFloat64Noise) {
    return "positions (batch, seq) differ from positions (seq) by " + amount(far);
  }
  const bool of_pairs = subject.claims.bias;  // leaving out a token changes what the others see
  if (length < (of_pairs ? 4 : 3)) return "";
  auto later = inputs;
  later.x = inputs.x.slice(1, 2);
  later.positions = at::arange(2, length);
  const auto there = subject.call(*module, later);
  if (const auto far = difference(there, y.slice(1, 2)); !of_pairs && far > kFloat64Noise) {
    return "a token at a given position differs from the same token counted there by " + amount(far);
  }
  // Other distances, where there are so many places; else none: all tokens at one place.
  const auto apart = at::arange(1, length - 1) * 2, together = at::zeros_like(apart);
  const auto n_places = subject.dims.context_length;
  for (const auto& positions : {apart, together}) {
    if (n_places > 0 && positions.max().item<std::int64_t>() >= n_places) continue;
    later.positions = positions;
    if (difference(subject.call(*module, later), there) > 0) return "";
  }
  return "the output does not depend on the position";
}

}  // namespace headwright::check

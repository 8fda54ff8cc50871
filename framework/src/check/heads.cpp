// Grouped heads: query head h reads kv head h // (n_heads / n_kv_heads). A variant that takes fewer kv heads than heads
// gives the same with full heads whose weights repeat those of their group.
#include <ATen/ATen.h>

#include <map>
#include <optional>

#include "check/properties.h"

namespace headwright::check {
namespace {

constexpr std::int64_t kHeads = 4, kKvHeads = 2, kGroup = kHeads / kKvHeads;  // h // 2 differs from h mod 2
constexpr double kFloat64Noise = 1e-9;

using State = std::map<std::string, at::Tensor>;

State state_of(const torch::nn::Module& module) {
  State state;
  for (const auto& item : module.named_parameters()) state[item.key()] = item.value();
  for (const auto& item : module.named_buffers()) state[item.key()] = item.value();
  return state;
}

/// Each kv head's part of `grouped` as often as its group has heads, in the shape of `full`; nothing where the shapes
/// are no such pair.
std::optional<at::Tensor> repeated(const at::Tensor& grouped, const at::Tensor& full) {
  if (grouped.sizes() == full.sizes()) return grouped;
  if (grouped.dim() != full.dim()) return {};
  std::int64_t along = -1;
  for (std::int64_t d = 0; d < grouped.dim(); ++d) {
    if (grouped.size(d) == full.size(d)) continue;
    const bool of_heads = grouped.size(d) % kKvHeads == 0 && full.size(d) == kGroup * grouped.size(d);
    if (along >= 0 || !of_heads) return {};
    along = d;
  }
  return grouped.unflatten(along, {kKvHeads, -1}).repeat_interleave(kGroup, along).flatten(along, along + 1);
}

/// The same variant with these heads; nothing where it refuses them.
std::optional<Subject> with_heads(const Subject& subject, std::int64_t n_kv_heads, std::int64_t d_head) {
  auto dims = subject.dims;
  dims.n_heads = kHeads;
  dims.n_kv_heads = n_kv_heads;
  dims.d_head = d_head;
  Issues issues;
  subject.variant.check(dims, subject.values, issues);
  if (!issues.items().empty()) return {};
  return Subject(subject.variant, dims, subject.values);
}

struct Pair {
  Subject grouped, full;
};

std::optional<Pair> pair_of(const Subject& subject) {
  for (const auto d_head : {subject.dims.d_head, subject.dims.d_model / kHeads}) {
    auto grouped = with_heads(subject, kKvHeads, d_head), full = with_heads(subject, kHeads, d_head);
    if (grouped && full) return Pair{*grouped, *full};
  }
  return {};
}

/// Gives `full` the weights of `grouped`, repeated. False where the two do not correspond, or are the same.
bool copy_repeated(const torch::nn::Module& grouped, const torch::nn::Module& full) {
  const at::NoGradGuard no_grad;
  const auto from = state_of(grouped), to = state_of(full);
  bool differ = false;
  if (from.size() != to.size()) return false;
  for (const auto& [name, tensor] : to) {
    const auto source = from.find(name);
    const auto value = source == from.end() ? std::nullopt : repeated(source->second, tensor);
    if (!value) return false;
    differ |= source->second.sizes() != tensor.sizes();
    tensor.copy_(*value);
  }
  return differ;
}

}  // namespace

bool groups_heads(const Subject& subject) try {
  const auto pair = pair_of(subject);
  return pair && copy_repeated(*pair->grouped.make(), *pair->full.make());
} catch (...) {
  return true;  // and the property says how it fails
}

std::string heads(const Subject& subject) {
  const auto pair = pair_of(subject);
  if (!pair) return "";  // it takes no fewer kv heads than heads
  const auto grouped = pair->grouped.make(), full = pair->full.make();
  copy_repeated(*grouped, *full);
  const auto inputs = pair->grouped.draw(2, subject.longest());
  const auto far = difference(pair->grouped.call(*grouped, inputs), pair->full.call(*full, inputs));
  if (far <= kFloat64Noise) return "";
  return "with " + std::to_string(kHeads) + " heads over " + std::to_string(kKvHeads) +
         " kv heads, the output differs by " + amount(far) +
         " from that of full heads with repeated weights: head h is to read kv head h // " + std::to_string(kGroup);
}

}  // namespace headwright::check

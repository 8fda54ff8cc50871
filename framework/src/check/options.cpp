// Properties of what a config may say: every size that a variant claims to read, and every option that it accepts,
// changes something; what it does not claim to read changes nothing.
#include <ATen/ATen.h>

#include <algorithm>
#include <array>

#include "bind/values.h"
#include "check/properties.h"
#include "support/text.h"

namespace headwright::check {
namespace {

/// All that a config's author can see of a variant: its parameters, its claims, its outputs in eval and in training.
struct Seen {
  std::vector<std::pair<std::string, std::vector<std::int64_t>>> parameters;
  std::string claims;
  std::vector<at::Tensor> outputs;

  bool operator==(const Seen& other) const {
    if (parameters != other.parameters || claims != other.claims || outputs.size() != other.outputs.size())
      return false;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (!at::equal(outputs[i], other.outputs[i])) return false;
    }
    return true;
  }
};

std::string text_of(const Claims& claims) {
  std::string text = claims.cost + " " + std::to_string(claims.d_out);
  for (const auto& row : claim_rows()) text += claims.*row.member ? '1' : '0';
  return text;
}

Seen seen(const Subject& subject) {
  Seen all{.claims = text_of(subject.claims)};
  const auto module = subject.make();
  const auto length = std::min<std::int64_t>(subject.many(), 40);
  for (const auto& item : module->named_parameters())
    all.parameters.emplace_back(item.key(), item.value().sizes().vec());
  for (const auto& item : module->named_buffers()) all.parameters.emplace_back(item.key(), item.value().sizes().vec());
  const at::NoGradGuard no_grad;
  // Parameters that start at 0 or 1 would hide what they do
  at::manual_seed(17);
  for (auto& parameter : module->parameters()) parameter.add_(at::randn_like(parameter) * 0.3);
  auto plain = subject.draw(3, length);
  if (plain.x.is_floating_point()) plain.x = plain.x * 3;  // so that a bound on scores is felt
  all.outputs.push_back(subject.call(*module, plain));
  all.outputs.push_back(subject.call(*module, with_masks(subject, plain)));
  auto packed = plain;
  if (subject.claims.document_ids) {
    packed.document_ids = at::arange(length).div(3, "floor").expand({3, length}).contiguous();
    all.outputs.push_back(subject.call(*module, packed));
  }
  module->train();
  at::manual_seed(5);
  if (subject.kernel_obstacle(true).empty()) all.outputs.push_back(subject.call(*module, plain));
  return all;
}

/// A value that fails is no value without effect; that it does is what `parameters` asks.
bool differs(const Subject& subject, const Seen& before) try {
  return !(seen(subject) == before);
} catch (const std::exception&) {
  return true;
}

bool accepted(const Subject& subject) {
  Issues issues;
  subject.variant.check(subject.dims, subject.values, issues);
  return issues.items().empty() && subject.kernel_obstacle().empty();
}

struct SizeRow {
  const char* name;
  std::int64_t Dims::* size;
  bool Sizes::* claimed;
};
constexpr std::array kSizes{
    SizeRow{"n_heads", &Dims::n_heads, &Sizes::n_heads}, SizeRow{"n_kv_heads", &Dims::n_kv_heads, &Sizes::n_kv_heads},
    SizeRow{"d_head", &Dims::d_head, &Sizes::d_head}, SizeRow{"d_memory", &Dims::d_memory, &Sizes::d_memory}};

/// The subject with another value of a size, and the sizes that follow from it as a config would have them.
Subject resized(const Subject& subject, const SizeRow& row, std::int64_t value) {
  auto dims = subject.dims;
  const bool grouped = dims.n_kv_heads != dims.n_heads;
  dims.*row.size = value;
  if (row.size == &Dims::n_heads && !grouped) dims.n_kv_heads = value;
  if (row.size == &Dims::n_heads && dims.d_model % value == 0) dims.d_head = dims.d_model / value;
  return {subject.variant, dims, subject.values};
}

}  // namespace

std::string sizes_read(const Subject& subject) {
  const auto before = seen(subject);
  for (const auto& row : kSizes) {
    const auto now = subject.dims.*row.size;
    bool tried = false, changes = false;
    for (const auto value : {now * 2, now / 2, now + 2}) {
      if (value < 1 || value == now) continue;
      const auto other = resized(subject, row, value);
      if (!accepted(other)) continue;
      tried = true;
      changes |= differs(other, before);
    }
    const bool claimed = subject.claims.reads.*row.claimed;
    if (changes && !claimed) return std::string(row.name) + " changes it, and the claims do not say that it is read";
    if (tried && !changes && claimed) return std::string(row.name) + " is claimed to be read, and changes nothing";
  }
  return "";
}

std::vector<std::string> without_effect(const Subject& subject) {
  const auto before = seen(subject);
  const auto effective = subject.variant.effective(subject.dims, subject.values);
  std::vector<std::string> found;
  for (const auto& row : subject.variant.params) {
    if (row.limits.same_result) continue;
    const auto now = bind::text_of(*find(subject.values, row.name));
    const auto* computed = find(effective, row.name);
    bool tried = false, changes = false;
    for (const auto& value : candidates(row)) {
      const auto text = bind::text_of(value);
      if (text == now || (computed != nullptr && text == bind::text_of(*computed))) continue;
      if (is_refused(subject, row, value)) continue;
      const auto other = subject.with(row.name, value);
      if (!other.kernel_obstacle().empty()) continue;
      tried = true;
      changes = differs(other, before);
      if (changes) break;
    }
    if (tried && !changes) found.push_back(row.name);
  }
  return found;
}

std::string every_option_does_something(const Subject& subject) {
  const auto found = without_effect(subject);
  if (found.empty()) return "";
  return "no value that is accepted changes anything: " + support::join(found, ", ");
}

std::string positions_taken(const Subject& subject) {
  const auto module = subject.make();
  const at::NoGradGuard no_grad;
  at::manual_seed(17);
  for (auto& parameter : module->parameters()) parameter.add_(at::randn_like(parameter) * 0.3);
  const auto length = subject.longest();
  const auto plain = subject.draw(2, length);
  auto given = plain, other = plain;
  given.positions = at::arange(length).expand({2, length});
  if (length < 3) return "";
  auto places = at::arange(length);  // the first two change places, and so all distances but theirs
  places[0] = 1;
  places[1] = 0;
  other.positions = places.expand({2, length});
  const auto y = subject.call(*module, plain);
  if (const auto far = difference(subject.call(*module, given), y); far > 1e-9) {
    return "the positions 0, 1, 2, ... change the output by " + amount(far);
  }
  const bool follows = difference(subject.call(*module, other), y) > 1e-9;
  if (follows == subject.claims.positions) return "";
  return follows ? "it follows positions, and the claims do not say so" : "it claims positions, and follows none";
}

}  // namespace headwright::check

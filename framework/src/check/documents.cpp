// Packed documents: none reads another one, and each is as if it stood alone.
#include <ATen/ATen.h>

#include "check/properties.h"
#include "check/tokens.h"
#include "headwright/attend.h"

namespace headwright::check {
namespace {

constexpr std::int64_t kChunk = 64;  // tokens: where variants that work in chunks begin the second one

}  // namespace

at::Tensor packed_documents(std::int64_t length) {
  const std::vector<std::vector<std::int64_t>> begins{
      {(length + 1) / 2}, {length / 3}, {1, length > kChunk ? kChunk : length - 1}};
  const auto token = at::arange(length);
  std::vector<at::Tensor> rows;
  for (const auto& row : begins) {
    auto ids = at::full({length}, 7, at::kLong);
    for (const auto begin : row) ids = at::where(token.ge(begin), ids * 3 - 20, ids);  // 7, 1, -17
    rows.push_back(ids);
  }
  return at::stack(rows);
}

namespace {

/// Says which token reads one of another document.
std::string other_document_read(const Subject& subject, torch::nn::Module& module, const Inputs& inputs,
                                std::int64_t step) {
  const auto length = inputs.x.size(1);
  const auto y = subject.call(module, inputs);
  for (std::int64_t token = 0; token < length; token += step) {
    const auto changed = subject.call(module, with_other_token(inputs, token));
    const auto own = inputs.document_ids.eq(inputs.document_ids.slice(1, token, token + 1)).unsqueeze(-1);
    const auto other = first_difference(y, at::where(own, y, changed), 0, length);
    if (other < 0) continue;
    return "the output at position " + std::to_string(other) + " depends on token " + std::to_string(token) +
           ", which is of another document";
  }
  return "";
}

/// What the masks among the values show of `keys` tokens with these ids: (length, length).
at::Tensor shown(const Subject& subject, const at::Tensor& ids) {
  const auto length = ids.size(1);
  const auto tokens = at::zeros({1, 1, length, 1}, at::kDouble);
  auto all = at::ones({length, length}, at::kBool);
  for (const auto& [name, value] : subject.values) {
    const auto* mask = std::get_if<Mask>(&value.data);
    if (mask == nullptr) continue;
    const auto visible = visible_keys(tokens, tokens, {.mask = *mask, .document_ids = ids});
    if (visible.defined()) all = all.logical_and(visible.expand({1, 1, length, length})[0][0]);
  }
  return all;
}

/// Each document of a pack against the same tokens alone. A mask that shows them other keys there, by where they stand
/// or by how many they are, leaves nothing to compare.
std::string differs_alone(const Subject& subject, torch::nn::Module& module, const Inputs& inputs) {
  const auto y = subject.call(module, inputs);
  const auto length = inputs.x.size(1);
  for (std::int64_t row = 0; row < inputs.x.size(0); ++row) {
    const auto ids = inputs.document_ids.slice(0, row, row + 1);
    const auto in_pack = shown(subject, ids);
    for (std::int64_t begin = 0, end = 0; begin < length; begin = end) {
      for (end = begin; end < length && ids[0][end].equal(ids[0][begin]);) ++end;
      const auto part = [&](const at::Tensor& x) { return x.slice(0, row, row + 1).slice(1, begin, end); };
      if (!in_pack.slice(0, begin, end).slice(1, begin, end).equal(shown(subject, ids.slice(1, begin, end)))) continue;
      auto alone = inputs;
      alone.x = part(inputs.x);
      alone.document_ids = at::Tensor();
      const auto first = first_difference(part(y), subject.call(module, alone), 0, end - begin);
      if (first < 0) continue;
      return "the document of tokens " + std::to_string(begin) + " to " + std::to_string(end - 1) +
             " gives another output at position " + std::to_string(begin + first) + " than alone";
    }
  }
  return "";
}

}  // namespace

std::string documents(const Subject& subject) {
  const auto module = subject.make();
  const at::NoGradGuard no_grad;
  for (const auto& [length, step] : {std::pair{subject.longest(), std::int64_t{1}},
                                     {subject.many(), std::max<std::int64_t>(1, subject.many() / 8)}}) {
    auto inputs = subject.draw(3, length);
    inputs.document_ids = packed_documents(length);
    if (auto fault = other_document_read(subject, *module, inputs, step); !fault.empty()) return fault;
    if (auto fault = differs_alone(subject, *module, inputs); !fault.empty()) return fault;
    auto one = inputs, none = inputs;
    one.document_ids = at::zeros({3, length}, at::kLong);
    none.document_ids = at::Tensor();
    if (difference(subject.call(*module, one), subject.call(*module, none)) <= kFloat64Noise) continue;
    return "tokens that are all of one document give another output than tokens without documents";
  }
  return "";
}

}  // namespace headwright::check

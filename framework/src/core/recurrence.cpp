// Sums of steps, states between chunks, and where documents begin, for layers with a state.
#include "headwright/recurrence.h"

#include <ATen/ATen.h>
#include <torch/csrc/jit/frontend/tracer.h>

#include <cmath>

#include "headwright/shapes.h"

namespace headwright {

at::Tensor sums_between(const at::Tensor& steps) {
  const auto i = positions_along(steps, -1).unsqueeze(-1), j = i.transpose(0, 1);
  const auto sums = steps.unsqueeze(-1).masked_fill(i <= j, 0).cumsum(-2);  // (.., length, length)
  return sums.masked_fill(i < j, -INFINITY);
}

at::Tensor states_before(const at::Tensor& added, const at::Tensor& log_kept) {
  if (torch::jit::tracer::isTracing()) {
    const auto weights = sums_between(log_kept).exp().type_as(added);  // (.., chunks, chunks)
    const auto behind = weights.matmul(added.flatten(-2)).unflatten(-1, {added.size(-2), added.size(-1)});
    return at::constant_pad_nd(behind.slice(2, 0, -1), {0, 0, 0, 0, 1, 0});
  }
  const auto kept = log_kept.exp().type_as(added).unsqueeze(-1).unsqueeze(-1);  // (.., chunks, 1, 1)
  std::vector<at::Tensor> states{at::zeros_like(added.select(2, 0))};
  for (std::int64_t c = 1; c < added.size(2); ++c) {
    states.push_back(states.back() * kept.select(2, c - 1) + added.select(2, c - 1));
  }
  return at::stack(states, 2);
}

at::Tensor document_numbers(std::string_view op, const Inputs& inputs) {
  const auto& ids = inputs.document_ids;
  if (!ids.defined()) return ids;
  const auto before = inputs.cache == nullptr ? 0 : inputs.cache->tokens(), all = before + inputs.x.size(1);
  if (ids.dim() != 2 || ids.size(0) != inputs.x.size(0) || ids.size(1) != all) {
    refuse_shape(
        op, "document_ids", ids,
        "(" + std::to_string(inputs.x.size(0)) + ", " + std::to_string(all) + "), batch and all tokens so far");
  }
  if (ids.scalar_type() != at::kLong) {
    throw ShapeError("[" + std::string(op) + "] document_ids: got dtype " + toString(ids.scalar_type()) +
                     ", expected int64");
  }
  const bool tracing = torch::jit::tracer::isTracing();
  if (!tracing && inputs.x.size(1) == 0) return {};
  const auto of_last = before > 0 ? ids.slice(1, before - 1, before) : ids.slice(1, 0, 1);
  const auto of_x = ids.slice(1, before);
  const auto ids_before = at::cat({of_last, of_x.slice(1, 0, -1)}, 1);
  return of_x.ne(ids_before).cumsum(1);
}

at::Tensor document_begins(const at::Tensor& numbers) {
  const auto before = at::cat({at::zeros_like(numbers.slice(1, 0, 1)), numbers.slice(1, 0, -1)}, 1);
  return numbers.ne(before);
}

std::vector<DocumentPiece> document_pieces(std::string_view op, const Inputs& inputs) {
  const auto seq_len = inputs.x.size(1);
  const auto numbers = document_numbers(op, inputs);
  if (!numbers.defined()) return {{.begin = 0, .end = seq_len}};
  const auto begins = document_begins(numbers);
  const auto places = begins.any(0).nonzero().flatten().cpu();
  std::vector<DocumentPiece> pieces;
  const auto add = [&](std::int64_t begin, std::int64_t end, const at::Tensor& first) {
    if (begin < end) pieces.push_back({begin, end, first});
  };
  std::int64_t begin = 0;
  at::Tensor first;
  for (std::int64_t i = 0; i < places.size(0); ++i) {
    const auto place = places[i].item<std::int64_t>();
    add(begin, place, first);
    begin = place;
    first = begins.slice(1, place, place + 1);
  }
  add(begin, seq_len, first);
  return pieces;
}

namespace {

/// (batch, seq) -> (batch, chunks, size), filled up with zeros.
at::Tensor in_chunks(const at::Tensor& x, std::int64_t size) {
  return at::constant_pad_nd(x, {0, size}).unfold(1, size, size);
}

}  // namespace

DocumentChunks::DocumentChunks(const at::Tensor& numbers, std::int64_t size) {
  const auto of_token = in_chunks(numbers, size).unsqueeze(1);              // (batch, 1, chunks, size)
  const auto behind = of_token.select(-1, size - 1);                        // (batch, 1, chunks)
  const auto before = at::constant_pad_nd(behind.slice(2, 0, -1), {1, 0});  // what the cache holds is number 0
  same = of_token.unsqueeze(-1).eq(of_token.unsqueeze(-2));
  goes_on = of_token.eq(before.unsqueeze(-1)).unsqueeze(-1);
  stays = of_token.eq(behind.unsqueeze(-1)).unsqueeze(-1);
  log_kept = at::zeros_like(behind, at::kFloat).masked_fill(behind.ne(before), -INFINITY);
}

}  // namespace headwright

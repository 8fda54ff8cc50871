// A sequence that goes on from a cache equals the same sequence at once.
#include <ATen/ATen.h>

#include <numeric>

#include "check/properties.h"

namespace headwright::check {
namespace {

constexpr double kFloat64Noise = 1e-9;

/// The outputs of pieces of the sequence, one after the other, joined.
at::Tensor in_pieces(const Subject& subject, torch::nn::Module& module, const Inputs& inputs, Cache& cache,
                     const std::vector<std::int64_t>& lengths) {
  std::vector<at::Tensor> parts;
  std::int64_t begin = 0;
  for (const auto length : lengths) {
    auto piece = inputs;
    piece.x = inputs.x.slice(1, begin, begin + length);
    for (auto* of_all : {&piece.key_mask, &piece.document_ids}) {
      if (of_all->defined()) *of_all = of_all->slice(1, 0, begin + length);
    }
    piece.cache = &cache;
    parts.push_back(subject.call(module, piece));
    begin += length;
  }
  return at::cat(parts, 1);
}

/// Lengths of the pieces: single tokens, two pieces, and two that end within chunks.
std::vector<std::vector<std::int64_t>> ways_to_feed(const Subject& subject) {
  std::vector<std::vector<std::int64_t>> ways{
      std::vector<std::int64_t>(static_cast<std::size_t>(subject.longest()), 1)};
  for (const auto length : {subject.longest(), subject.many()}) {
    if (length > 1) ways.push_back({(length + 1) / 2, length / 2});
  }
  return ways;
}

/// What they carry besides x, as a phrase, and the inputs.
std::vector<std::pair<std::string, Inputs>> inputs_of(const Subject& subject, std::int64_t length) {
  const auto plain = subject.draw(2, length);
  std::vector<std::pair<std::string, Inputs>> all{{"", plain}};
  if (subject.claims.key_mask) {
    auto& padded = all.emplace_back(" with padding", plain).second;
    padded.key_mask = at::ones({2, length}, at::kBool);
    padded.key_mask.select(0, 0).slice(0, 0, length / 2).fill_(false);  // at the start
  }
  if (subject.claims.document_ids) {
    auto& packed = all.emplace_back(" with documents", subject.draw(3, length)).second;
    packed.document_ids = packed_documents(length);
  }
  return all;
}

}  // namespace

std::string cached(const Subject& subject) {
  const auto module = subject.make();
  auto& attention = dynamic_cast<Attention&>(*module);
  const at::NoGradGuard no_grad;
  for (const auto& lengths : ways_to_feed(subject)) {
    const auto length = std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0});
    for (const auto& [extra, inputs] : inputs_of(subject, length)) {
      const auto at_once = subject.call(*module, inputs);
      auto cache = attention.make_cache(inputs.x.size(0), length);
      const auto far = difference(in_pieces(subject, *module, inputs, cache, lengths), at_once);
      if (!(far <= kFloat64Noise)) {
        const std::string how = lengths.size() == 2 ? "in two pieces" : "token by token";
        return "a sequence fed " + how + extra + " differs from the same sequence at once by " + amount(far);
      }
      if (cache.tokens() != length) {
        return "after " + std::to_string(length) + " tokens the cache's length is " + std::to_string(cache.tokens());
      }
    }
  }
  return "";
}

}  // namespace headwright::check

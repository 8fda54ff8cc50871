// A sequence that goes on from a cache equals the same sequence at once.
#include <ATen/ATen.h>

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
    if (inputs.key_mask.defined()) piece.key_mask = inputs.key_mask.slice(1, 0, begin + length);
    piece.cache = &cache;
    parts.push_back(subject.call(module, piece));
    begin += length;
  }
  return at::cat(parts, 1);
}

}  // namespace

std::string cached(const Subject& subject) {
  const auto module = subject.make();
  auto& attention = dynamic_cast<Attention&>(*module);
  const at::NoGradGuard no_grad;
  const auto longest = subject.longest();
  for (const bool masked : {false, true}) {
    if (masked && !subject.claims.key_mask) continue;
    auto inputs = subject.draw(2, longest);
    if (masked) {
      inputs.key_mask = at::ones({2, longest}, at::kBool);
      inputs.key_mask.select(0, 0).slice(0, 0, longest / 2).fill_(false);  // padding at the start
    }
    const auto at_once = subject.call(*module, inputs);
    const std::vector<std::int64_t> ones(static_cast<std::size_t>(longest), 1);
    const auto first = (longest + 1) / 2;
    for (const auto& lengths : {ones, std::vector<std::int64_t>{first, longest - first}}) {
      if (lengths.back() == 0) continue;
      auto cache = attention.make_cache(2, longest);
      const auto far = difference(in_pieces(subject, *module, inputs, cache, lengths), at_once);
      const auto how = lengths.size() == 2 ? "in two pieces" : "token by token";
      if (!(far <= kFloat64Noise)) {
        return std::string("a sequence fed ") + how + (masked ? " with padding" : "") +
               " differs from the same sequence at once by " + std::to_string(far);
      }
      if (cache.tokens() != longest) {
        return "after " + std::to_string(longest) + " tokens the cache's length is " + std::to_string(cache.tokens());
      }
    }
  }
  return "";
}

}  // namespace headwright::check

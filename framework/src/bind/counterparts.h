// What the keys of other libraries are here.
#pragma once
#include <span>
#include <string_view>

namespace headwright::bind {

/// Places of a config: sections of the framework, and components, which stand in several of them.
namespace place {
inline constexpr std::string_view kTop;  // it has no name
inline constexpr std::string_view kModel = "model";
inline constexpr std::string_view kEmbedding = "model.embedding";
inline constexpr std::string_view kBlock = "model.blocks.NAME";
inline constexpr std::string_view kHead = "model.head";
inline constexpr std::string_view kRun = "run";
inline constexpr std::string_view kInput = "input";
inline constexpr std::string_view kMemory = "input.memory";
inline constexpr std::string_view kRandom = "input.random";
inline constexpr std::string_view kAttention = "attention";
inline constexpr std::string_view kFeedForward = "feed_forward";
inline constexpr std::string_view kNorm = "norm";
inline constexpr std::string_view kPosition = "position";
inline constexpr std::string_view kWhereKnown = "*";  // every section that has the key
inline constexpr std::string_view kNowhere = "-";     // no counterpart; `ours` says why
}  // namespace place

struct Counterpart {
  std::string_view theirs;
  std::string_view at;      // where ours stands
  std::string_view ours;    // a key, or a key with what to write behind it: "mask: causal"
  bool only_there = false;  // elsewhere the word means something else
};

/// In the order of preference: where several fit, the first is told.
std::span<const Counterpart> counterparts();

}  // namespace headwright::bind

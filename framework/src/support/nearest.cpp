// Which known name a misspelt one was meant to be.
#include <algorithm>
#include <cctype>

#include "support/text.h"

namespace headwright::support {
namespace {

std::string lower(std::string_view text) {
  std::string result(text);
  for (auto& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

/// Edits from a to b; a swap of neighbours is one edit.
std::size_t distance(std::string_view a, std::string_view b) {
  const std::size_t width = b.size() + 1;
  std::vector<std::size_t> table((a.size() + 1) * width);
  const auto at = [&](std::size_t i, std::size_t j) -> std::size_t& { return table[i * width + j]; };
  for (std::size_t i = 0; i <= a.size(); ++i) at(i, 0) = i;
  for (std::size_t j = 0; j <= b.size(); ++j) at(0, j) = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      at(i, j) = std::min({at(i - 1, j) + 1, at(i, j - 1) + 1, at(i - 1, j - 1) + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        at(i, j) = std::min(at(i, j), at(i - 2, j - 2) + 1);
      }
    }
  }
  return table.back();
}

/// Edits that still look like a slip in a word of this length.
std::size_t allowed(std::size_t length) { return length <= 4 ? 1 : length <= 8 ? 2 : 3; }

/// Letters that both begin and end with; decides between candidates at the same distance.
std::size_t shared_ends(std::string_view a, std::string_view b) {
  const auto front = std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin();
  const auto back = std::mismatch(a.rbegin(), a.rend(), b.rbegin(), b.rend()).first - a.rbegin();
  return static_cast<std::size_t>(front + back);
}

/// The best candidate where `measure` gives each a distance, or nothing where it is not meant.
template <class Measure>
std::optional<std::string> best(std::string_view got, std::span<const std::string> candidates, Measure measure) {
  const std::string* found = nullptr;
  std::size_t found_distance = 0, found_ends = 0;
  for (const auto& candidate : candidates) {
    const std::optional<std::size_t> edits = measure(candidate);
    if (!edits) continue;
    const auto ends = shared_ends(got, candidate);
    if (!found || *edits < found_distance || (*edits == found_distance && ends > found_ends)) {
      found = &candidate;
      found_distance = *edits;
      found_ends = ends;
    }
  }
  return found ? std::optional(*found) : std::nullopt;
}

}  // namespace

std::optional<std::string> nearest(std::string_view got_as_written, std::span<const std::string> candidates) {
  const std::string got = lower(got_as_written.substr(0, 64));  // longer is no slip, and the table would be large
  const auto edits = [&](std::string_view candidate) -> std::optional<std::size_t> {
    const auto n = distance(got, lower(candidate));
    const auto longest = std::max(got.size(), candidate.size());
    return n <= allowed(longest) && n < longest ? std::optional(n) : std::nullopt;
  };
  if (auto whole = best(got, candidates, edits)) return whole;

  // A name of several words of which only some were given: windw -> window_size, head -> n_heads.
  if (got.size() < 4) return std::nullopt;
  return best(got, candidates, [&](std::string_view candidate) {
    std::optional<std::size_t> least;
    for (std::size_t at = candidate.find('_'); at != std::string_view::npos; at = candidate.find('_', at + 1)) {
      for (const auto part : {candidate.substr(0, at), candidate.substr(at + 1)}) {
        const auto n = edits(part);
        if (n && part.size() >= 4 && (!least || *n < *least)) least = n;
      }
    }
    return least;
  });
}

}  // namespace headwright::support

// Makes of yaml-cpp's messages those that help the author of a config.
#include <algorithm>
#include <array>

#include "spec/read.h"
#include "support/text.h"

namespace headwright::spec {
namespace {

constexpr auto npos = std::string_view::npos;
constexpr auto kMisfit = "this does not fit what stands before it; check the indentation, commas and quotes";

struct Wording {
  std::string_view theirs, ours;
};

constexpr auto kComma = "expected a ',' or a closing bracket; quotes and brackets within text need quotes around it";
constexpr auto kColon = "a ':' cannot stand here; check the indentation, or put the text in quotes";
constexpr auto kTag = "tags such as !!str are not part of the config language; leave it out, and put text in quotes";

namespace theirs = YAML::ErrorMsg;
const std::array<Wording, 19> kWordings{{
    {theirs::MAP_VALUE, kColon},
    {theirs::MAP_KEY, "a key cannot stand here; check the indentation"},
    {theirs::END_OF_MAP, kMisfit},
    {theirs::END_OF_SEQ, kMisfit},
    {theirs::END_OF_MAP_FLOW, kComma},
    {theirs::END_OF_SEQ_FLOW, kComma},
    {theirs::BLOCK_ENTRY, "a list item '- ' cannot begin here; begin it on a line of its own"},
    {theirs::FLOW_END, "a bracket is closed here that was not opened"},
    {theirs::TAB_IN_INDENTATION, "a tab in the indentation; use spaces"},
    {theirs::BAD_FILE, "nested too deeply"},
    {theirs::MULTIPLE_ANCHORS, "two anchors for one value; one is enough"},
    {theirs::ALIAS_NOT_FOUND, "a name is missing after '*'; put the text in quotes if no alias is meant"},
    {theirs::ANCHOR_NOT_FOUND, "a name is missing after '&'; put the text in quotes if no anchor is meant"},
    {theirs::DOC_IN_SCALAR, "a line of '---' or '...' within quotes; is a closing quote missing above?"},
    {theirs::CHAR_IN_TAG_HANDLE, kTag},
    {theirs::TAG_WITH_NO_SUFFIX, kTag},
    {theirs::END_OF_VERBATIM_TAG, kTag},
    {theirs::INVALID_TAG, kTag},
    {theirs::MULTIPLE_TAGS, kTag},
}};

/// The word of the source that begins at `at`.
std::string word(const Source& source, std::size_t at) {
  const auto rest = source.text().substr(std::min(at, source.text().size()));
  return support::printable(rest.substr(0, rest.find_first_of(" \t\r\n,]}")), 40);
}

std::string in_our_words(const std::string& message, const Source& source, std::size_t at) {
  for (const auto& wording : kWordings) {
    if (message == wording.theirs) return std::string(wording.ours);
  }
  if (message == theirs::UNKNOWN_TOKEN) {
    return "text cannot begin with '" + word(source, at).substr(0, 1) + "'; put it in quotes";
  }
  if (message == theirs::UNKNOWN_ANCHOR) {
    const auto alias = word(source, at);
    return "alias '" + alias + "' repeats nothing: no anchor '&" + alias.substr(1) + "' stands above it";
  }
  if (message.starts_with(theirs::INVALID_ESCAPE)) {
    return "no such escape in double quotes; write \\\\ for a backslash, or use single quotes";
  }
  return message;
}

/// A line without ': ' makes yaml-cpp stumble over the ':' of the next one. The line's first byte and what it lacks.
std::optional<std::pair<std::size_t, std::string>> fault_in_line_above(const Source& source, std::size_t at) {
  const auto text = source.text().substr(0, at);
  const auto end = text.find_last_not_of(" \t\r\n", text.rfind('\n'));
  if (text.rfind('\n') == npos || end == npos) return std::nullopt;
  const auto newline = text.rfind('\n', end);
  const auto start = text.find_first_not_of(" \t", newline == npos ? 0 : newline + 1);
  const auto line = text.substr(start, end + 1 - start);
  if (line.find(": ") != npos || line.back() == ':' || line.find_first_of("[]{}\"'#|>") != npos || line[0] == '-') {
    return std::nullopt;
  }
  const auto shown = "'" + support::printable(line, 40) + "'";
  if (line.find(':') != npos) return std::pair(start + line.find(':'), "a space must follow the ':' in " + shown);
  return std::pair(start, "expected ':' and a value after " + shown);
}

}  // namespace

std::pair<std::size_t, std::string> explain(const YAML::Exception& error, const Source& source,
                                            const Builder& builder) {
  const auto at = static_cast<std::size_t>(std::max(error.mark.pos, 0));
  if (error.msg == theirs::EOF_IN_SCALAR) {
    const auto quote = source.unclosed_quote(builder.reached());
    return {quote == npos ? at : quote, "the quote that begins here is not closed"};
  }
  if (error.msg == theirs::MAP_VALUE) {
    if (auto above = fault_in_line_above(source, at)) return *std::move(above);
  }
  return {at, in_our_words(error.msg, source, at)};
}

}  // namespace headwright::spec

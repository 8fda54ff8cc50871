// Finds lines and columns in characters, and looks at what the events leave out.
#include "spec/source.h"

#include <algorithm>

#include "support/text.h"

namespace headwright::spec {
namespace {

constexpr auto npos = std::string_view::npos;

bool starts_character(char byte) { return (static_cast<unsigned char>(byte) & 0xc0U) != 0x80; }

/// What is wrong with the line that begins at `start`, and at which byte.
std::pair<std::size_t, std::string> line_fault(std::string_view text, std::size_t start) {
  if (start < text.size() && text[start] == '%') {
    return {start, "a line cannot begin with '%' (YAML directives are not part of the config language)"};
  }
  const auto content = text.find_first_not_of(" \t", start);
  if (content == npos || text[content] == '\n' || text[content] == '\r' || text[content] == '#') return {npos, {}};
  const auto tab = text.substr(0, content).find('\t', start);
  return {tab, tab == npos ? "" : "a tab in the indentation; use spaces"};
}

}  // namespace

Source::Source(std::string_view text, std::string file, int first_column)
    : text_(text), file_(std::move(file)), first_column_(first_column), known_column_(first_column) {
  if (text_.starts_with("\xef\xbb\xbf")) text_.remove_prefix(3);  // a byte order mark is no character of the first line
}

Mark Source::mark(std::size_t at) const {
  at = std::min(at, text_.size());
  // From the place known before: forwards to `at`, or back to the start of its line and forwards from there.
  if (at < known_at_) {
    known_line_ -= static_cast<int>(std::count(text_.begin() + at, text_.begin() + known_at_, '\n'));
    const auto newline = at == 0 ? npos : text_.rfind('\n', at - 1);
    known_at_ = newline == npos ? 0 : newline + 1;
    known_column_ = known_line_ == 1 ? first_column_ : 1;
  }
  for (; known_at_ < at; ++known_at_) {
    if (text_[known_at_] == '\n') {
      ++known_line_;
      known_column_ = 1;
    } else if (starts_character(text_[known_at_])) {
      ++known_column_;
    }
  }
  return {file_, known_line_, known_column_};
}

Problem Source::problem(std::size_t at, std::string message, std::string path) const {
  auto [file, line, column] = mark(at);
  return {std::move(file), line, column, std::move(path), std::move(message), {}};
}

void Source::check_characters() const {
  const auto refuse = [&](std::size_t at, const std::string& message) { throw ConfigError({problem(at, message)}); };
  if (text_.starts_with("\xff\xfe") || text_.starts_with("\xfe\xff")) refuse(0, "is UTF-16; save it as UTF-8");
  const auto byte = support::invalid_utf8(text_);
  if (byte) refuse(*byte, "not UTF-8: byte " + support::printable(text_.substr(*byte, 1)) + "; save the file as UTF-8");
  for (std::size_t at = 0; at < text_.size(); ++at) {
    const auto c = static_cast<unsigned char>(text_[at]);
    if (at == 0 || text_[at - 1] == '\n') {
      const auto [where, fault] = line_fault(text_, at);
      if (where != npos) refuse(where, fault);
    }
    if (c == '\r' && text_.substr(at + 1, 1) != "\n") refuse(at, "a carriage return alone; end lines with a newline");
    if ((c < 0x20 && c != '\t' && c != '\n' && c != '\r') || c == 0x7f) {
      refuse(at, "control character " + support::printable(text_.substr(at, 1)) + "; write it as an escape in quotes");
    }
  }
}

std::size_t Source::after_anchor(std::size_t at) const {
  if (at >= text_.size() || text_[at] != '&') return at;
  at = std::min(text_.find_first_of(" \t\r\n", at), text_.size());
  while (at < text_.size()) {
    at = std::min(text_.find_first_not_of(" \t\r\n", at), text_.size());
    if (at == text_.size() || text_[at] != '#') break;
    at = std::min(text_.find('\n', at), text_.size());
  }
  return at;
}

std::size_t Source::after_quotes(std::size_t at) const {
  const char quote = text_[at];
  for (++at; at < text_.size(); ++at) {
    if (quote == '"' && text_[at] == '\\') {
      ++at;
    } else if (text_[at] == quote) {
      if (quote == '"' || text_.substr(at + 1, 1) != "'") return at + 1;
      ++at;  // '' within single quotes is one of them
    }
  }
  return npos;
}

std::size_t Source::skip_opaque(std::size_t at) const {
  const char before = at == 0 ? '\n' : text_[at - 1];
  if (text_[at] == '#' && std::string_view(" \t\n").find(before) != npos) {
    return std::min(text_.find('\n', at), text_.size());
  }
  const bool quote = text_[at] == '"' || text_[at] == '\'';
  if (!quote || std::string_view(" \t\n[{,:").find(before) == npos) return at;
  const auto end = after_quotes(at);
  return end == npos ? npos : end - 1;
}

bool Source::closes(std::size_t at) const {
  std::size_t depth = 0;
  for (; at < text_.size(); ++at) {
    const char c = text_[at];
    if (c == '[' || c == '{') ++depth;
    if ((c == ']' || c == '}') && --depth == 0) return true;
    at = skip_opaque(at);
    if (at == npos) return false;
  }
  return false;
}

std::size_t Source::unclosed_quote(std::size_t from) const {
  for (auto at = from; at < text_.size(); ++at) {
    const auto end = skip_opaque(at);
    if (end == npos) return at;
    at = end;
  }
  return npos;
}

}  // namespace headwright::spec

// Text as characters rather than bytes.
#include <algorithm>
#include <array>
#include <cstdio>

#include "support/text.h"

namespace headwright::support {
namespace {

struct Character {
  char32_t code = 0;
  std::size_t length = 0;  // in bytes; 0 = not valid UTF-8
};

/// The character that `text` begins with. Refuses overlong forms, surrogates and what lies past U+10FFFF.
Character first_character(std::string_view text) {
  static constexpr std::array<char32_t, 5> kSmallest{0, 0, 0x80, 0x800, 0x10000};
  const auto lead = static_cast<unsigned char>(text.front());
  if (lead < 0x80) return {lead, 1};
  const std::size_t length = lead < 0xc0 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf8 ? 4 : 0;
  if (length == 0 || text.size() < length) return {};
  char32_t code = lead & (0x7fU >> length);
  for (const char byte : text.substr(1, length - 1)) {
    if ((static_cast<unsigned char>(byte) & 0xc0U) != 0x80) return {};
    code = (code << 6U) | (static_cast<unsigned char>(byte) & 0x3fU);
  }
  if (code < kSmallest[length] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return {};
  return {code, length};
}

/// Control characters, and those that turn the direction of text around.
bool hidden(char32_t code) {
  return code < 0x20 || (code >= 0x7f && code < 0xa0) || (code >= 0x200b && code <= 0x200f) ||
         (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069) || code == 0xfeff;
}

std::string escaped(char32_t code) {
  if (code == '\n') return "\\n";
  if (code == '\t') return "\\t";
  if (code == '\r') return "\\r";
  std::array<char, 16> text{};
  std::snprintf(text.data(), text.size(), code < 0x100 ? "\\x%02x" : "\\u%04x", static_cast<unsigned>(code));
  return text.data();
}

}  // namespace

std::string printable(std::string_view text, std::size_t longest) {
  std::string result;
  for (std::size_t count = 0; !text.empty(); ++count) {
    if (count == longest) return result + "...";
    const auto [code, length] = first_character(text);
    if (length == 0) {
      result += escaped(static_cast<unsigned char>(text.front()));
    } else if (hidden(code)) {
      result += escaped(code);
    } else {
      result += text.substr(0, length);
    }
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return result;
}

std::optional<std::size_t> invalid_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const auto length = first_character(text.substr(at)).length;
    if (length == 0) return at;
    at += length;
  }
  return std::nullopt;
}

std::size_t count_characters(std::string_view text) {
  const auto starts = [](char byte) { return (static_cast<unsigned char>(byte) & 0xc0U) != 0x80; };
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), starts));
}

}  // namespace headwright::support

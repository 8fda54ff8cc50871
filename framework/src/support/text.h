// Small text helpers.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headwright::support {

std::string join(std::span<const std::string> parts, std::string_view separator);
std::vector<std::string> split(std::string_view text, char separator);

/// The candidate closest to `got` by edit distance (transposition = 1), if close enough to be meant.
std::optional<std::string> nearest(std::string_view got, std::span<const std::string> candidates);

/// 124439808 -> "124,439,808"
std::string with_thousands(std::int64_t number);

/// 13194139533312 -> "12.0 TiB"
std::string bytes_text(double bytes);

/// Shortest decimal form that reads back to the same double.
std::string number_text(double number);

/// The text with terminal control characters and invalid UTF-8 made visible, cut to `longest` characters.
std::string printable(std::string_view text, std::size_t longest = 80);

/// Position of the first byte that is not valid UTF-8.
std::optional<std::size_t> invalid_utf8(std::string_view text);

/// Number of UTF-8 characters.
std::size_t count_characters(std::string_view text);

}  // namespace headwright::support

// Reads numbers, booleans and nulls in one way, whatever YAML version wrote them.
#include "spec/scalars.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "support/text.h"

namespace headwright::spec {
namespace {

constexpr double kExact = 9007199254740992.0;  // 2^53: above it a double is no exact integer

template <class T>
Read<T> refuse(const Node& node, const std::string& expected) {
  return {std::nullopt, "got " + node.what() + ", expected " + expected};
}

bool is_one_of(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::ranges::find(words, text) != words.end();
}

bool digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

/// 0 or digits that do not begin with it.
bool whole(std::string_view text) { return digits(text) && (text.size() == 1 || text.front() != '0'); }

std::string_view without_sign(std::string_view text, std::string_view signs = "-") {
  if (!text.empty() && signs.find(text.front()) != std::string_view::npos) text.remove_prefix(1);
  return text;
}

/// Decimal with a point or an exponent or neither: 1 | 1.5 | .5 | 1. | 1e-5
bool decimal(std::string_view text) {
  const auto e = text.find_first_of("eE");
  if (e != std::string_view::npos && !digits(without_sign(text.substr(e + 1), "+-"))) return false;
  const auto mantissa = text.substr(0, e);
  const auto point = mantissa.find('.');
  if (point == std::string_view::npos) return whole(mantissa);
  const auto before = mantissa.substr(0, point), after = mantissa.substr(point + 1);
  return (before.empty() || whole(before)) && (after.empty() || digits(after)) && !(before.empty() && after.empty());
}

std::optional<double> double_of(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// The value of an integer in whatever notation: 0x10, 0o17, 0b11, 1_000, +5, 010; as decimal text.
std::optional<std::string> in_decimal(std::string_view written) {
  if (!digits(without_sign(written, "+-").substr(0, 1))) return std::nullopt;
  std::string text(written);
  std::erase(text, '_');
  const bool negative = text.starts_with('-');
  std::string_view rest = without_sign(text, "+-");
  int base = 10;
  for (const auto& [prefix, its_base] : {std::pair{"0x", 16}, {"0X", 16}, {"0o", 8}, {"0b", 2}}) {
    if (rest.starts_with(prefix)) base = its_base;
  }
  if (base != 10) rest.remove_prefix(2);
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value, base);
  if (rest.empty() || error != std::errc{} || end != rest.data() + rest.size()) return std::nullopt;
  return (negative && value != 0 ? "-" : "") + std::to_string(value);
}

/// Whether some reader of YAML takes the plain text for a number, a bool or null.
bool reads_as_something_else(std::string_view text) {
  const auto unsigned_text = without_sign(text, "+-");
  return decimal(unsigned_text) || in_decimal(text) ||
         is_one_of(unsigned_text, {".inf", ".Inf", ".INF", ".nan", ".NaN", ".NAN"}) ||
         is_one_of(text, {"true", "True", "TRUE", "false", "False", "FALSE", "yes",  "Yes",  "YES",  "no", "No", "NO",
                          "on",   "On",   "ON",   "off",   "Off",   "OFF",   "null", "Null", "NULL", "~",  ""});
}

std::string hint_for_integer(const Node& node) {
  const std::string_view text = node.text;
  if (node.quoted) return whole(without_sign(text)) ? "; leave the quotes out: " + node.text : "";
  if (const auto number = in_decimal(text)) {
    if (whole(without_sign(text))) return " within 64 bits";
    return "; write it in decimal: " + *number;
  }
  if (whole(without_sign(text))) return " within 64 bits";
  const auto value = decimal(without_sign(text)) ? double_of(text) : std::nullopt;
  if (value && *value == std::floor(*value) && std::fabs(*value) <= kExact) {
    return "; write it in full: " + std::to_string(static_cast<std::int64_t>(*value));
  }
  return "";
}

std::string hint_for_number(const Node& node) {
  const auto unsigned_text = without_sign(node.text, "+-");
  if (node.quoted) return decimal(without_sign(node.text)) ? "; leave the quotes out: " + node.text : "";
  if (const auto number = in_decimal(node.text)) return "; write it in decimal: " + *number;
  if (decimal(unsigned_text)) return "; write it without the plus: " + std::string(unsigned_text);
  auto with_point = node.text;
  std::ranges::replace(with_point, ',', '.');
  return decimal(without_sign(with_point)) ? "; write it with a point: " + with_point : "";
}

}  // namespace

Read<bool> as_bool(const Node& node) {
  if (node.type == Node::Type::scalar && !node.quoted && is_one_of(node.text, {"true", "false"})) {
    return {node.text == "true", {}};
  }
  auto read = refuse<bool>(node, "true or false");
  if (node.type != Node::Type::scalar) return read;
  if (node.quoted && is_one_of(node.text, {"true", "false"})) read.message += "; leave the quotes out";
  if (is_one_of(node.text, {"yes", "Yes", "YES", "on", "On", "ON", "True", "TRUE", "1", "y"})) {
    read.message += "; write true";
  }
  if (is_one_of(node.text, {"no", "No", "NO", "off", "Off", "OFF", "False", "FALSE", "0", "n"})) {
    read.message += "; write false";
  }
  return read;
}

Read<std::int64_t> as_integer(const Node& node) {
  if (node.type != Node::Type::scalar) return refuse<std::int64_t>(node, "an integer");
  const auto& text = node.text;
  std::int64_t value = 0;
  if (!node.quoted && whole(without_sign(text)) &&
      std::from_chars(text.data(), text.data() + text.size(), value).ec == std::errc{}) {
    return {value, {}};
  }
  return refuse<std::int64_t>(node, "an integer" + hint_for_integer(node));
}

Read<double> as_number(const Node& node) {
  if (node.type != Node::Type::scalar) return refuse<double>(node, "a number");
  if (!node.quoted && decimal(without_sign(node.text))) {
    if (const auto value = double_of(node.text)) return {value, {}};
    return refuse<double>(node, "a number that a 64-bit float can hold");
  }
  const auto word = without_sign(node.text, "+-");
  if (!node.quoted && is_one_of(word, {".inf", ".Inf", ".INF", ".nan", ".NaN", ".NAN", "inf", "nan"})) {
    return refuse<double>(node, "a finite number");
  }
  return refuse<double>(node, "a number" + hint_for_number(node));
}

Read<std::string> as_text(const Node& node) {
  if (node.type != Node::Type::scalar) return refuse<std::string>(node, "text");
  if (node.quoted || !reads_as_something_else(node.text)) return {node.text, {}};
  return refuse<std::string>(node, "text; put it in quotes if it is meant: \"" + support::printable(node.text) + '"');
}

bool is_null(const Node& node) {
  if (node.type == Node::Type::scalar) return !node.quoted && is_one_of(node.text, {"null", "Null", "NULL", "~", ""});
  return node.type == Node::Type::null;
}

}  // namespace headwright::spec

// Quotes where a reader would else take a text for something else.
#include "spec/emit.h"

#include <algorithm>

#include "spec/scalars.h"
#include "support/text.h"

namespace headwright::spec {
namespace {

constexpr std::size_t kLineLength = 100;  // characters

bool letter_or_digit(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); }

/// Whether YAML's syntax leaves the text alone without quotes; what it then means is another question.
bool fits_without_quotes(std::string_view text) {
  if (text == "~" || text == "null") return true;
  const auto first = text.substr(text.starts_with('-') || text.starts_with('+') ? 1 : 0);
  if (first.empty() || (!letter_or_digit(first[0]) && std::string_view("_./").find(first[0]) == std::string_view::npos))
    return false;
  if (std::ranges::none_of(text, letter_or_digit)) return false;
  return std::ranges::all_of(
      text, [](char c) { return letter_or_digit(c) || std::string_view("_-./+").find(c) != std::string_view::npos; });
}

/// What is printable() is written alike in YAML: \n, \x1b, \u202e.
std::string in_double_quotes(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return '"' + support::printable(result, std::string::npos) + '"';
}

/// In quotes where it would not be read back as the same text without.
std::string scalar(const Node& node) {
  const bool plain_is_text = as_text({.type = Node::Type::scalar, .text = node.text}).value.has_value();
  const bool plain = fits_without_quotes(node.text) && (plain_is_text || !node.quoted);
  return plain ? node.text : in_double_quotes(node.text);
}

std::string key(const std::string& text) { return scalar({.type = Node::Type::scalar, .text = text, .quoted = true}); }

/// On one line: scalars, and lists that hold nothing but such.
std::optional<std::string> on_one_line(const Node& node) {
  if (node.type == Node::Type::null) return "null";
  if (node.type == Node::Type::scalar) return scalar(node);
  if (node.type == Node::Type::map) return node.entries.empty() ? std::optional("{}") : std::nullopt;
  std::string text;
  for (const auto& item : node.items) {
    const auto part = on_one_line(item);
    if (!part) return std::nullopt;
    text += (text.empty() ? "" : ", ") + *part;
  }
  return "[" + text + "]";
}

/// A list of scalars over as many lines as it needs.
std::string wrapped(const Node& list, std::size_t indent) {
  std::string text = "[";
  std::size_t column = indent;
  for (const auto& item : list.items) {
    auto part = on_one_line(item).value_or("") + (&item == &list.items.back() ? "]" : ",");
    column += part.size() + 1;
    if (column > kLineLength && &item != list.items.data()) {
      text += "\n" + std::string(indent, ' ');
      column = indent + part.size();
    } else if (&item != list.items.data()) {
      text += ' ';
    }
    text += part;
  }
  return text;
}

class Emitter {
 public:
  explicit Emitter(const std::function<std::string(const Node&)>& remark) : remark_(remark) {}

  void block(const Node& node, std::size_t indent, std::string& out) const {
    const std::string margin(indent, ' ');
    for (const auto& entry : node.entries) {
      out += margin + key(entry.key) + ":";
      value(entry.value, indent + 2, false, out);
    }
    for (const auto& item : node.items) {
      out += margin + "-";
      value(item, indent + 2, true, out);
    }
  }

 private:
  std::string remark_on(const Node& node) const {
    const auto text = remark_ ? remark_(node) : "";
    return text.empty() ? "" : "  # " + text;
  }

  /// What follows "key:" or "-". A block in a list begins on the line of its dash.
  void value(const Node& node, std::size_t indent, bool after_dash, std::string& out) const {
    const auto line = on_one_line(node);
    const bool flat = std::ranges::all_of(node.items, [](const Node& item) { return item.type != Node::Type::list; });
    if (line && (node.items.empty() || indent + line->size() <= kLineLength)) {
      out += " " + *line + remark_on(node) + "\n";
    } else if (line && flat) {
      out += " " + wrapped(node, indent) + "\n";
    } else if (after_dash) {
      std::string inner;
      block(node, indent, inner);
      out += " " + inner.substr(indent);
    } else {
      out += '\n';
      block(node, indent, out);
    }
  }

  const std::function<std::string(const Node&)>& remark_;
};

}  // namespace

std::string emit_flow(const Node& node) {
  if (node.type == Node::Type::null) return "null";
  if (node.type == Node::Type::scalar) return scalar(node);
  const bool is_map = node.type == Node::Type::map;
  std::string text;
  for (const auto& item : node.items) text += (text.empty() ? "" : ", ") + emit_flow(item);
  for (const auto& entry : node.entries) {
    text += (text.empty() ? "" : ", ") + key(entry.key) + ": " + emit_flow(entry.value);
  }
  return is_map ? "{" + text + "}" : "[" + text + "]";
}

std::string emit(const Node& root, const std::function<std::string(const Node&)>& remark) {
  std::string out;
  const bool is_block = !root.entries.empty() || !root.items.empty();
  if (is_block) {
    Emitter(remark).block(root, 0, out);
  } else {
    out = on_one_line(root).value_or("") + "\n";
  }
  return out;
}

}  // namespace headwright::spec

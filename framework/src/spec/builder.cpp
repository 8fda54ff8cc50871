// Listens to yaml-cpp's events, and refuses duplicate keys, cycles and aliases without bound.
#include "spec/builder.h"

#include <algorithm>

#include "support/text.h"

namespace headwright::spec {
namespace {

constexpr std::size_t kDeepest = 64;        // levels of a config, aliases expanded
constexpr std::size_t kMostNodes = 100000;  // of a config, aliases expanded
constexpr std::size_t kLongestKey = 200;    // bytes
constexpr std::size_t kMostProblems = 100;

std::size_t byte_of(const YAML::Mark& mark) { return static_cast<std::size_t>(std::max(mark.pos, 0)); }

/// Whether the text begins with a null that somebody wrote.
bool writes_null(std::string_view text) {
  const auto word = text.substr(0, text.find_first_of(" \t\r\n,]}:"));
  return word == "~" || word == "null" || word == "Null" || word == "NULL";
}

std::string in_quotes(std::string_view text) { return "'" + support::printable(text, 40) + "'"; }

}  // namespace

std::optional<Node> Builder::finish() {
  if (!problems_.empty()) throw ConfigError(problems_);
  return std::move(root_);
}

void Builder::fail(std::size_t at, std::string message) {
  problems_.push_back(source_.problem(at, std::move(message), path()));
  throw ConfigError(problems_);
}

void Builder::note(std::size_t at, std::string message, const std::string& key) {
  const auto parent = path();
  const auto dot = parent.empty() || key.empty() ? "" : ".";
  problems_.push_back(source_.problem(at, std::move(message), parent + dot + key));
  if (problems_.size() == kMostProblems) throw ConfigError(problems_);
}

std::string Builder::path() const {
  std::vector<std::string> steps;
  for (const auto& level : stack_) {
    if (level.built.node.type == Node::Type::list) steps.push_back(std::to_string(level.built.node.items.size()));
    if (level.pending) steps.push_back(level.pending->key);
  }
  return support::join(steps, ".");
}

void Builder::check_brackets() {
  for (auto level = stack_.rbegin(); level != stack_.rend(); ++level) {
    const char first = source_.text()[level->at];
    if ((first != '[' && first != '{') || source_.closes(level->at)) continue;
    const auto at = level->at;
    stack_.erase(level.base() - 1, stack_.end());  // the path that is named ends above the bracket
    fail(at, std::string("the '") + first + "' that stands here is not closed");
  }
}

/// For what an open bracket may be the reason of.
void Builder::misplaced(std::size_t at, const std::string& message) {
  check_brackets();
  fail(at, message);
}

/// The first byte of a value, after its anchor. Tags are refused here: yaml-cpp drops those of an empty value.
std::size_t Builder::begin(const YAML::Mark& mark) {
  reached_ = byte_of(mark);
  const auto at = source_.after_anchor(reached_);
  if (at < source_.text().size() && source_.text()[at] == '!') {
    fail(at, "tags such as !!str are not part of the config language; leave it out, and put text in quotes");
  }
  return at;
}

void Builder::OnDocumentStart(const YAML::Mark& mark) {
  if (documents_++ == 0) return;
  const auto at = byte_of(mark);
  fail(at, source_.text().substr(at).starts_with("---")
               ? "a second document begins here; a config is one document"
               : "this does not belong to what stands above; check the indentation (nothing may follow a document)");
}

void Builder::OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) {
  begin(mark);
  const bool written = writes_null(source_.text().substr(reached_));
  if (key_is_next()) {
    misplaced(reached_, written ? "a key cannot be null; put it in quotes if it is meant as text"
                                : "a key is missing here; it must stand on one line, followed by ':'");
  }
  Built built;
  built.node.mark = source_.mark(written || anchor != 0 ? reached_ : place_of_nothing(reached_));
  add(std::move(built), reached_, anchor);
}

/// yaml-cpp marks a value that was left out at whatever comes next; its ':' or '-' is the better place.
std::size_t Builder::place_of_nothing(std::size_t next) const {
  if (stack_.empty() || next == 0) return next;
  const auto& level = stack_.back();
  if (level.pending) return level.colon;
  const auto dash = source_.text().rfind('-', next - 1);
  return source_.text()[level.at] == '-' && dash != std::string_view::npos ? dash : next;
}

void Builder::OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) {
  reached_ = byte_of(mark);
  if (key_is_next()) fail(reached_, "a key cannot be an alias; write it out");
  const auto found = anchors_.find(anchor);
  if (found == anchors_.end())
    fail(reached_, "the alias stands inside the value that it repeats, which would never end");
  Built built = found->second;
  built.node.mark = source_.mark(reached_);  // what it holds keeps the places where it is written
  add(std::move(built), reached_, 0);
}

void Builder::OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       const std::string& value) {
  const auto at = begin(mark);
  const auto text = source_.text();
  const bool quoted = tag == "!";  // so yaml-cpp marks quotes and blocks (|, >); written tags are refused above
  if (quoted && (text[at] == '"' || text[at] == '\'') && source_.after_quotes(at) == std::string_view::npos) {
    fail(at, "the quote that begins here is not closed");
  }
  if (support::invalid_utf8(value)) fail(at, "the escapes \\N and \\_ are not supported; write \\x85 and \\xA0");
  if (key_is_next()) return key(at, value, quoted);
  if (!quoted && !text.substr(at).starts_with(value)) {
    const auto next = std::to_string(source_.line(at) + 1);
    misplaced(at, "this text runs on in line " + next + "; check the indentation there, or put the text in quotes");
  }
  Built built;
  built.node = {.type = Node::Type::scalar, .text = value, .quoted = quoted, .mark = source_.mark(at)};
  add(std::move(built), at, anchor);
}

void Builder::OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                              YAML::EmitterStyle::value) {
  open(Node::Type::list, mark, anchor);
}

void Builder::OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor, YAML::EmitterStyle::value) {
  open(Node::Type::map, mark, anchor);
}

bool Builder::key_is_next() const {
  return !stack_.empty() && stack_.back().built.node.type == Node::Type::map && !stack_.back().pending;
}

void Builder::key(std::size_t at, const std::string& text, bool quoted) {
  const bool in_place =
      quoted ? source_.text()[at] != '|' && source_.text()[at] != '>' : source_.text().substr(at).starts_with(text);
  if (!in_place) fail(at, "a key must stand on one line, followed by ':'");
  auto& level = stack_.back();
  level.colon = find_colon(at, quoted ? source_.after_quotes(at) : at + text.size(), text);

  const auto mark = source_.mark(at);
  const auto [first, is_new] = level.lines.emplace(text, mark.line);
  if (text == "<<" && !quoted) {
    note(at,
         "merge keys (<<) are not part of the config language; write the keys out, or give the whole map by an alias");
  } else if (text.empty()) {
    note(at, "a key is empty");
  } else if (text.size() > kLongestKey) {
    fail(at, "a key of " + std::to_string(text.size()) + " bytes; the longest that is accepted has " +
                 std::to_string(kLongestKey));
  } else if (!is_new) {
    note(at, "duplicate key " + in_quotes(text) + ", given before on line " + std::to_string(first->second), text);
  }
  level.pending = Entry{.key = text, .key_mark = mark};
}

/// yaml-cpp takes a word alone for a key without value.
std::size_t Builder::find_colon(std::size_t at, std::size_t end, const std::string& key) {
  const auto text = source_.text();
  const auto next = std::min(text.find_first_not_of(" \t", end), text.size());
  if (text.substr(next, 1) == ":") return next;
  const auto space = key.find(':') == std::string::npos ? "" : "; a space must follow the ':'";
  misplaced(at, "expected ':' and a value after " + in_quotes(key) + space);
}

void Builder::open(Node::Type type, const YAML::Mark& mark, YAML::anchor_t anchor) {
  const auto at = begin(mark);
  if (key_is_next()) {
    const char first = source_.text()[at];
    const bool open = (first == '[' || first == '{') && !source_.closes(at);
    fail(at, open ? std::string("the '") + first + "' that stands here is not closed"
                  : std::string("a key must be text, got ") + (type == Node::Type::list ? "a list" : "a map"));
  }
  if (stack_.size() == kDeepest) fail(at, "nested deeper than " + std::to_string(kDeepest) + " levels");
  count(1, at);
  Open level{.at = at, .anchor = anchor};
  level.built.node.type = type;
  level.built.node.mark = source_.mark(at);
  stack_.push_back(std::move(level));
}

void Builder::close() {
  Open level = std::move(stack_.back());
  stack_.pop_back();
  nodes_ -= level.built.nodes;  // add() counts them again, as one value
  add(std::move(level.built), level.at, level.anchor);
}

void Builder::add(Built built, std::size_t at, YAML::anchor_t anchor) {
  count(built.nodes, at);
  if (stack_.size() + built.depth > kDeepest + 1) {
    fail(at, "nested deeper than " + std::to_string(kDeepest) + " levels once the alias is expanded");
  }
  if (anchor != 0) {
    count(built.nodes, at);  // the copy kept for aliases
    anchors_.emplace(anchor, built);
  }
  if (stack_.empty()) {
    root_ = std::move(built.node);
    return;
  }
  auto& parent = stack_.back();
  parent.built.nodes += built.nodes;
  parent.built.depth = std::max(parent.built.depth, built.depth + 1);
  if (parent.pending) {
    parent.pending->value = std::move(built.node);
    parent.built.node.entries.push_back(std::move(*parent.pending));
    parent.pending.reset();
  } else {
    parent.built.node.items.push_back(std::move(built.node));
  }
}

void Builder::count(std::size_t nodes, std::size_t at) {
  nodes_ += nodes;
  if (nodes_ <= kMostNodes) return;
  fail(at, "more than " + support::with_thousands(kMostNodes) +
               " values, aliases expanded; large tensors belong into a .npy or .safetensors file");
}

}  // namespace headwright::spec

// --set model.d_model=64
#include <algorithm>
#include <charconv>

#include "spec/load.h"
#include "spec/read.h"
#include "spec/scalars.h"
#include "support/text.h"

namespace headwright::spec {
namespace {

/// Walks down from the root, one step of the path after the other, making what is missing.
class Walk {
 public:
  Walk(Node& root, std::string_view assignment)
      : source_(assignment, "--set " + support::printable(assignment, 60)),
        equals_(std::min(assignment.find('='), assignment.size())),
        node_(&root) {}

  void run() {
    const auto text = source_.text();
    if (equals_ == text.size()) fail(0, "expected KEY=VALUE, such as model.d_model=64");
    auto value = value_after_equals();
    for (std::size_t start = 0; start <= equals_;) {
      const auto end = std::min(text.find('.', start), equals_);
      step(start, std::string(text.substr(start, end - start)));
      start = end + 1;
    }
    *node_ = std::move(value);
  }

 private:
  [[noreturn]] void fail(std::size_t at, const std::string& message) {
    throw ConfigError({source_.problem(at, message, support::join(path_, "."))});
  }

  /// Read by the same rules as a file. Nothing after '=' means null.
  Node value_after_equals() {
    const auto text = source_.text().substr(equals_ + 1);
    const auto first = text.find_first_not_of(" \t");
    const auto mark = source_.mark(equals_ + 1);
    if (first != std::string_view::npos && text[first] == '#') {
      fail(equals_ + 1 + first, "'#' begins a comment; put the value in quotes");
    }
    try {
      auto value = read(Source(text, mark.file, mark.column));
      return value ? std::move(*value) : Node{.mark = mark};
    } catch (const ConfigError& error) {
      auto problems = error.problems();
      const std::string key(source_.text().substr(0, equals_));
      for (auto& problem : problems) problem.path = key + (problem.path.empty() ? "" : ".") + problem.path;
      throw ConfigError(std::move(problems));
    }
  }

  void step(std::size_t at, const std::string& name) {
    if (name.empty()) fail(at, "a step of the path is empty");
    if (node_->type == Node::Type::list) {
      node_ = &node_->items[index(at, name)];
    } else {
      become_map(at);
      node_ = &value_under(at, name);
    }
    path_.push_back(name);
  }

  std::size_t index(std::size_t at, const std::string& name) {
    const auto size = node_->items.size();
    std::size_t index = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), index);
    const bool number = error == std::errc{} && end == name.data() + name.size();
    if (number && index < size) return index;
    const auto range = size == 0 ? "which is empty" : "expected an index from 0 to " + std::to_string(size - 1);
    fail(at, "got '" + support::printable(name, 40) + "' as a step into a list, " + range);
  }

  /// What a step goes into: nothing becomes a map, a component's bare name becomes {name: ...}.
  void become_map(std::size_t at) {
    if (node_->type == Node::Type::map) return;
    Node map{.type = Node::Type::map, .mark = source_.mark(at)};
    if (node_->type == Node::Type::scalar) {
      if (!as_text(*node_).value) fail(at, "a step into " + node_->what() + ", which has no keys");
      // An entry of `layers` names a block, under a key of its own
      const auto key = path_.size() > 1 && path_[path_.size() - 2] == "layers" ? "use" : "name";
      map.mark = node_->mark;
      map.entries.push_back({.key = key, .key_mark = node_->mark, .value = std::move(*node_)});
    }
    *node_ = std::move(map);
  }

  Node& value_under(std::size_t at, const std::string& name) {
    if (auto* found = node_->find(name)) return *found;
    node_->entries.push_back({.key = name, .key_mark = source_.mark(at), .value = {.mark = source_.mark(at)}});
    return node_->entries.back().value;
  }

  Source source_;
  std::size_t equals_;
  Node* node_;
  std::vector<std::string> path_;
};

}  // namespace

void apply_override(Node& root, std::string_view assignment) {
  Source(assignment, "--set").check_characters();
  Node changed = root;  // so that a failing override changes nothing
  Walk(changed, assignment).run();
  root = std::move(changed);
}

}  // namespace headwright::spec

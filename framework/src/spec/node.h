// The typed tree that a config file becomes: every node and every key knows where it stands.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace headwright::spec {

/// A place in a file. Lines and columns count from 1, columns in characters.
struct Mark {
  std::string file;
  int line = 0, column = 0;
};

struct Entry;

struct Node {
  enum class Type { null, scalar, list, map };
  Type type = Type::null;
  std::string text;            // of a scalar
  bool quoted = false;         // a scalar in quotes is text, whatever it looks like
  std::vector<Node> items;     // of a list
  std::vector<Entry> entries;  // of a map, in the order of the file; keys are unique
  Mark mark;

  /// The value under `key` of a map, or null.
  const Node* find(std::string_view key) const;
  Node* find(std::string_view key);

  /// "a map", "a list", "nothing", or the scalar as written, for messages.
  std::string what() const;
};

struct Entry {
  std::string key;
  Mark key_mark;
  Node value;
};

}  // namespace headwright::spec

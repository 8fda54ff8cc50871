// Looks keys up in a map.
#include "spec/node.h"

#include <utility>

#include "support/text.h"

namespace headwright::spec {

const Node* Node::find(std::string_view key) const {
  for (const auto& entry : entries) {
    if (entry.key == key) return &entry.value;
  }
  return nullptr;
}

Node* Node::find(std::string_view key) { return const_cast<Node*>(std::as_const(*this).find(key)); }

std::string Node::what() const {
  switch (type) {
    case Type::null:
      return "nothing";
    case Type::list:
      return "a list";
    case Type::map:
      return "a map";
    case Type::scalar:
      break;
  }
  const auto shown = support::printable(text, 40);
  return quoted ? '"' + shown + '"' : shown;
}

}  // namespace headwright::spec

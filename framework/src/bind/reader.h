// The state that reading one config shares: the registry, and the problems found so far.
#pragma once
#include <string>
#include <vector>

#include "headwright/errors.h"
#include "registry/registry.h"
#include "spec/node.h"

namespace headwright::bind {

struct Reader {
  registry::Registry& registry;
  std::vector<Problem> problems;
  int n_defaults_open = 0;  // components that are read since a default names them, one within the other

  void report(const spec::Mark& mark, const std::string& path, const std::string& message,
              const std::string& suggestion = "");
};

/// A map or value of the config and where it stands.
struct Section {
  const spec::Node* node = nullptr;
  std::string path;  // "model", "model.encoder"
};

/// The sections in which a size may stand: the nearest first, the model last.
using Sections = std::vector<Section>;

/// "model" + "d_model" -> "model.d_model"
std::string below(const std::string& path, const std::string& key);

/// The mark of a value nobody wrote.
spec::Mark default_mark();

/// Where the value of `key` stands, or the map where it is left out.
const spec::Mark& mark_of(const spec::Node& map, const std::string& key);

/// Whether the file gives the key a value, however faulty.
bool given(const spec::Node& map, const std::string& key);

/// Nodes for the resolved config.
spec::Node scalar_node(std::string text, bool quoted, const spec::Mark& mark);
spec::Node null_node(const spec::Mark& mark);
spec::Node map_node(const spec::Mark& mark);
/// Takes out what nobody wrote and what has no value: a key that is absent because another one stands in its place.
void drop_absent(spec::Node& map);
void set(spec::Node& map, const std::string& key, spec::Node value);

}  // namespace headwright::bind

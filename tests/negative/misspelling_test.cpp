// Every key of every shipped config, wrong in one letter: each is refused, and the right key is suggested.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <random>
#include <set>

#include "bind/resolve.h"
#include "headwright/errors.h"
#include "spec/load.h"

namespace headwright {
namespace {

namespace fs = std::filesystem;
using spec::Node;

registry::Registry& plugins() {
  static registry::Registry registry({.search_path = {fs::path(HEADWRIGHT_BUILD_DIR) / "plugins"},
                                      .probe = fs::path(HEADWRIGHT_BUILD_DIR) / "runner"});
  return registry;
}

std::vector<fs::path> shipped_configs() {
  std::vector<fs::path> configs;
  for (const auto& entry : fs::recursive_directory_iterator(fs::path(HEADWRIGHT_SOURCE_DIR) / "configs")) {
    if (entry.path().extension() == ".yaml") configs.push_back(entry.path());
  }
  std::ranges::sort(configs);
  return configs;
}

/// Drops, doubles, swaps or replaces one letter.
std::set<std::string> misspellings(const std::string& key, std::mt19937& random) {
  std::set<std::string> results;
  for (std::size_t at = 0; at < key.size(); ++at) {
    results.insert(std::string(key).erase(at, 1));
    results.insert(std::string(key).insert(at, 1, key[at]));
    if (at + 1 < key.size()) {
      std::string swapped = key;
      std::swap(swapped[at], swapped[at + 1]);
      results.insert(swapped);
    }
    std::string replaced = key;
    replaced[at] = static_cast<char>('a' + std::uniform_int_distribution<int>(0, 25)(random));
    results.insert(replaced);
  }
  results.erase(key);
  results.erase("");
  return results;
}

/// Calls `visit` for each key of the tree whose name is the language's, not the user's.
void for_each_key(Node& node, const std::string& path, const std::function<void(spec::Entry&, Node&)>& visit) {
  for (auto& entry : node.entries) {
    if (path != "model.blocks" && path != "model.encoder.blocks") visit(entry, node);
    for_each_key(entry.value, path.empty() ? entry.key : path + "." + entry.key, visit);
  }
  for (auto& item : node.items) for_each_key(item, path + ".0", visit);
}

struct Count {
  int tried = 0, suggested = 0;
};

/// Resolves the tree, in which `meant` stands misspelt as `entry`; counts whether the error offers the right key.
void expect_refused(const Node& root, const spec::Entry& entry, const std::string& meant, Count& count) {
  ++count.tried;
  try {
    bind::resolve(root, plugins());
    ADD_FAILURE() << "accepted " << entry.key << " for " << meant << " in " << entry.key_mark.file;
  } catch (const ConfigError& error) {
    const auto offers = [&](const Problem& problem) {
      return problem.suggestion == meant && problem.line == entry.key_mark.line &&
             problem.column == entry.key_mark.column;
    };
    if (std::ranges::any_of(error.problems(), offers)) ++count.suggested;
  }
}

TEST(Misspelling, OfAnyKeyOfAnyShippedConfigIsRefusedAndTheRightKeySuggested) {
  std::mt19937 random(3);
  Count all;
  std::map<std::string, Count> by_key;
  std::set<std::string> seen;  // the same slip among the same keys tells nothing new
  for (const auto& config : shipped_configs()) {
    auto root = spec::load(config);
    bind::resolve(root, plugins());  // right before, wrong after
    for_each_key(root, "", [&](spec::Entry& entry, Node& map) {
      const auto meant = entry.key;
      std::string among = meant;
      for (const auto& sibling : map.entries) among += "," + sibling.key;
      if (!seen.insert(among).second) return;
      for (const auto& misspelt : misspellings(meant, random)) {
        if (map.find(misspelt) != nullptr) continue;
        entry.key = misspelt;
        expect_refused(root, entry, meant, by_key[meant]);
      }
      entry.key = meant;
    });
  }
  for (const auto& [key, count] : by_key) {
    all.tried += count.tried;
    all.suggested += count.suggested;
    if (count.suggested < count.tried) std::cout << key << ": " << count.suggested << " of " << count.tried << '\n';
  }
  std::cout << all.suggested << " of " << all.tried << " misspellings got the right suggestion\n";
  EXPECT_GE(all.tried, 300);
  EXPECT_GE(all.suggested, 0.9 * all.tried);
}

}  // namespace
}  // namespace headwright

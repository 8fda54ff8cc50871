// Reads the sections in their order, and throws every problem at once.
#include "bind/resolve.h"

#include <algorithm>
#include <tuple>

#include "bind/effective.h"
#include "bind/input_section.h"
#include "bind/model_section.h"
#include "bind/reader.h"
#include "bind/rows.h"
#include "bind/tables.h"
#include "bind/walk.h"
#include "spec/scalars.h"

namespace headwright::bind {
namespace {

using spec::Node;

/// A kernel that is asked for and that no layer can use would be ignored silently.
void check_kernel(Reader& reader, const Node& root, const Plan& plan) {
  if (plan.run.kernel == "auto" || plan.model.blocks.empty()) return;
  if (std::ranges::any_of(walk_attentions(plan.model), [](const Place& it) { return it.claims->core; })) return;
  const Node* run = root.find("run");
  const Node* kernel = run == nullptr ? nullptr : run->find("kernel");
  if (kernel != nullptr) {
    reader.report(kernel->mark, "run.kernel", "has no effect: no layer is computed by the attention core");
  }
}

/// Whether the key that `missing` misses is there, misspelt.
bool is_misspelt(const Problem& missing, const std::vector<Problem>& problems) {
  if (!missing.message.starts_with("missing")) return false;
  return std::ranges::any_of(problems, [&](const Problem& other) {
    const auto dot = other.path.rfind('.');
    const auto parent = dot == std::string::npos ? "" : other.path.substr(0, dot);
    return !other.suggestion.empty() && below(parent, other.suggestion) == missing.path;
  });
}

/// As a reader meets them in the file, one problem for a misspelt key, and each but once: a size is asked for by every
/// component.
std::vector<Problem> in_order(std::vector<Problem> problems) {
  const auto all = problems;
  std::erase_if(problems, [&](const Problem& problem) { return is_misspelt(problem, all); });
  std::ranges::stable_sort(problems, {}, [](const Problem& p) { return std::tuple(p.file, p.line, p.column); });
  const auto [repeated, end] = std::ranges::unique(
      problems, {}, [](const Problem& p) { return std::tuple(p.file, p.line, p.column, p.path, p.message); });
  problems.erase(repeated, end);
  return problems;
}

}  // namespace

std::vector<std::filesystem::path> plugin_paths(const Node& root) {
  std::vector<std::filesystem::path> paths;
  const Node* list = root.find("plugins");
  if (list == nullptr) return paths;
  const auto folder = std::filesystem::path(root.mark.file).parent_path();
  for (const auto& item : list->items) {
    if (item.type == Node::Type::scalar) paths.push_back(folder / item.text);
  }
  return paths;
}

Plan resolve(const Node& root, registry::Registry& registry) {
  Reader reader{registry, {}};
  Plan plan;
  if (!expect_map(reader, root, "", "a map with name and model")) throw ConfigError(std::move(reader.problems));
  plan.resolved = map_node(root.mark);
  const auto keys = read_section<TopKeys>(reader, top_table(), root, "", plan.resolved);
  plan.name = keys.name;
  plan.description = keys.description.value_or("");

  Node model = map_node(root.mark), run = map_node(default_mark()), input = map_node(default_mark());
  plan.run = read_run(reader, root.find("run"), run);
  if (const Node* section = root.find("model")) {
    plan.model = read_model(reader, *section, model, plan.run);
  } else {
    reader.report(root.mark, "model", "missing, expected a map with d_model and blocks");
  }
  plan.input = read_input(reader, root.find("input"), plan.model, input);
  check_kernel(reader, root, plan);
  set(plan.resolved, "model", std::move(model));
  set(plan.resolved, "run", std::move(run));
  if (!input.entries.empty()) set(plan.resolved, "input", std::move(input));
  if (!reader.problems.empty()) throw ConfigError(in_order(std::move(reader.problems)));
  write_effective(plan.model, *plan.resolved.find("model"));
  return plan;
}

}  // namespace headwright::bind

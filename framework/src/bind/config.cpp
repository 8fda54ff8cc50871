// Loads, changes and resolves a config, and prints what became of it.
#include "bind/config.h"

#include <algorithm>
#include <charconv>

#include "bind/effective.h"
#include "bind/input_section.h"
#include "bind/reader.h"
#include "bind/resolve.h"
#include "spec/emit.h"
#include "spec/load.h"
#include "support/text.h"

namespace headwright::bind {
namespace {

std::string text_of(const spec::Mark& mark) {
  return mark.line == 0 ? mark.file : mark.file + ":" + std::to_string(mark.line) + ":" + std::to_string(mark.column);
}

void add_origins(const spec::Node& node, const std::string& path,
                 std::vector<std::pair<std::string, std::string>>& found) {
  if (node.type != spec::Node::Type::map) {
    found.emplace_back(path, text_of(node.mark));
    return;
  }
  for (const auto& entry : node.entries) add_origins(entry.value, below(path, entry.key), found);
}

}  // namespace

Config::Config(const std::filesystem::path& file) : root_(spec::load(file)) {}

void Config::set(std::string_view assignment) { spec::apply_override(root_, assignment); }

void Config::choose(const InputChoice& input) { choose_input(root_, input); }

bool Config::has_input() const { return root_.find("input") != nullptr; }

Config Config::without_input() const {
  auto config = *this;
  std::erase_if(config.root_.entries, [](const spec::Entry& entry) { return entry.key == "input"; });
  return config;
}

std::vector<std::filesystem::path> Config::plugin_paths() const { return bind::plugin_paths(root_); }

Plan Config::resolve(registry::Registry& registry) const { return bind::resolve(root_, registry); }

InputPlan Config::input_for(const ModelPlan& model, registry::Registry& registry,
                            std::vector<Problem>& problems) const {
  Reader reader{registry, {}};
  spec::Node resolved;
  auto input = read_input(reader, root_.find("input"), model, resolved);
  problems = std::move(reader.problems);
  return input;
}

std::string text_of(const Plan& plan) { return spec::emit(plan.resolved); }

std::string annotated_text(const Plan& plan) {
  return spec::emit(plan.resolved, [](const spec::Node& node) -> std::string {
    const auto& file = node.mark.file;
    return file == computed_mark().file || file == computed_by_layer_mark().file ? file : "";
  });
}

std::vector<std::pair<std::string, std::string>> origins(const Plan& plan) {
  std::vector<std::pair<std::string, std::string>> found;
  add_origins(plan.resolved, "", found);
  return found;
}

std::optional<spec::Mark> mark_of(const Plan& plan, const std::string& path) {
  const auto* node = &plan.resolved;
  for (const auto& part : support::split(path, '.')) {
    const auto* value = node->find(part);
    std::size_t index = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), index);
    if (error == std::errc{} && end == part.data() + part.size() && index < node->items.size()) {
      value = &node->items[index];
    }
    if (value == nullptr) return {};
    node = value;
  }
  return node->mark;
}

std::string file_of(const Plan& plan) { return plan.resolved.mark.file; }

}  // namespace headwright::bind

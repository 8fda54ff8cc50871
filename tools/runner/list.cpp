#include <iostream>

#include "commands.h"
#include "exit_code.h"
#include "print.h"
#include "reports.h"

namespace headwright::runner {
namespace {

Json as_json(registry::Registry& registry) {
  Json object;
  object["plugins"] = Json::array();
  for (const auto* variant : registry.all()) {
    Json plugin;
    plugin["name"] = variant->name;
    plugin["kind"] = to_string(variant->kind);
    plugin["file"] = registry.file_of(variant->name);
    plugin["summary"] = variant->summary;
    plugin["source"] = variant->source;
    plugin["claims"] = claims_json(usual_claims(*variant));
    object["plugins"].push_back(std::move(plugin));
  }
  object["refused"] = refusals_json(registry.refused());
  return object;
}

int list(const Global& global, bool json) {
  const auto registry = run::open_registry(global.plugin_path);
  if (json) {
    print_json(as_json(*registry));
    return kOk;
  }
  std::vector<std::vector<std::string>> rows{{"KIND", "NAME", "WHAT IT IS", "CLAIMS"}};
  for (const auto* variant : registry->all()) {
    rows.push_back({std::string(to_string(variant->kind)), variant->name, variant->summary,
                    claims_text(usual_claims(*variant), variant->kind)});
  }
  std::cout << table_text(rows) << refusals_text(registry->refused());
  return kOk;
}

}  // namespace

void add_list(CLI::App& app, Global& global) {
  const auto json = std::make_shared<bool>(false);
  auto& command = add_command(app, global, "list", "the variants that are there, and the libraries that were refused",
                              "  runner list\n  runner --plugin-path build/my_plugins list --json",
                              [&global, json] { return list(global, *json); });
  command.add_flag("--json", *json, "print one JSON object");
}

}  // namespace headwright::runner

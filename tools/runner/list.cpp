// `runner list`: the variants that are found.
#include <iostream>

#include "bind/schema.h"
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

struct Options {
  bool json = false, markdown = false, names = false;
};

/// The catalogue for documents.
void print_markdown(registry::Registry& registry) {
  std::cout << "| kind | name | what it is | source | cost | claims |\n| --- | --- | --- | --- | --- | --- |\n";
  for (const auto* variant : registry.all()) {
    const auto claims = usual_claims(*variant);
    std::cout << "| " << to_string(variant->kind) << " | `" << variant->name << "` | "
              << bind::markdown_text(variant->summary) << " | " << bind::markdown_text(variant->source) << " | "
              << bind::markdown_text(claims.cost) << " | " << claims_text(claims, variant->kind) << " |\n";
  }
}

void print(registry::Registry& registry) {
  std::vector<std::vector<std::string>> rows{{"KIND", "NAME", "WHAT IT IS", "CLAIMS"}};
  for (const auto* variant : registry.all()) {
    rows.push_back({std::string(to_string(variant->kind)), variant->name, variant->summary,
                    claims_text(usual_claims(*variant), variant->kind)});
  }
  std::cout << table_text(rows) << refusals_text(registry.refused());
}

int list(const Global& global, const Options& options) {
  const auto registry = run::find_plugins(global.plugin_path);
  if (options.json) {
    print_json(as_json(*registry));
  } else if (options.markdown) {
    print_markdown(*registry);
  } else if (options.names) {
    for (const auto& provided : registry->provided()) std::cout << provided.name << '\n';
  } else {
    print(*registry);
  }
  return kOk;
}

}  // namespace

void add_list(CLI::App& app, Global& global) {
  const auto options = std::make_shared<Options>();
  auto& command = add_command(app, global, "list", "the variants that are there, and the libraries that were refused",
                              "  runner list\n  runner --plugin-path build/my_plugins list --json",
                              [&global, options] { return list(global, *options); });
  auto* json = command.add_flag("--json", options->json, "print one JSON object");
  auto* markdown = command.add_flag("--markdown", options->markdown, "print a table in markdown")->excludes(json);
  command.add_flag("--names", options->names, "print the names alone, one a line")->excludes(json)->excludes(markdown);
}

}  // namespace headwright::runner

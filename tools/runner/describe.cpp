#include <cmath>
#include <iostream>

#include "bind/schema.h"
#include "commands.h"
#include "exit_code.h"
#include "print.h"
#include "reports.h"
#include "support/text.h"

namespace headwright::runner {
namespace {

Json limit(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json as_json(const VariantSpec& variant) {
  Json object;
  object["name"] = variant.name;
  object["kind"] = to_string(variant.kind);
  object["summary"] = variant.summary;
  object["source"] = variant.source;
  object["params"] = Json::array();
  for (const auto& row : variant.params) {
    Json param;
    param["name"] = row.name;
    param["type"] = bind::type_text(row);
    param["default"] = row.limits.required ? Json(nullptr) : Json(bind::default_text(row));
    param["doc"] = row.doc;
    param["min"] = limit(row.limits.min);
    param["max"] = limit(row.limits.max);
    param["choices"] = Json::array();
    for (const auto choice : row.limits.choices) {
      if (!choice.empty()) param["choices"].push_back(choice);
    }
    object["params"].push_back(std::move(param));
  }
  object["claims"] = claims_json(usual_claims(variant));
  return object;
}

void print(const VariantSpec& variant) {
  const auto claims = usual_claims(variant);
  std::cout << variant.name << ": " << variant.summary << "\n\nkind    " << to_string(variant.kind) << "\nsource  "
            << variant.source << '\n';
  if (!claims.cost.empty()) std::cout << "cost    " << claims.cost << '\n';
  std::cout << "claims  " << claims_text(claims, variant.kind) << "\n\n";
  if (variant.params.empty()) {
    std::cout << "no parameters\n";
    return;
  }
  std::vector<std::vector<std::string>> rows{{"PARAMETER", "TYPE", "DEFAULT", "LIMITS", "MEANING"}};
  for (const auto& row : variant.params) {
    rows.push_back({row.name, bind::type_text(row), row.limits.required ? "required" : bind::default_text(row),
                    bind::limits_text(row), row.doc});
  }
  std::cout << table_text(rows);
}

std::string unknown(const registry::Registry& registry, const std::string& name) {
  std::vector<std::string> names;
  for (const auto& provided : registry.provided()) names.push_back(provided.name);
  const auto near = support::nearest(name, names);
  return "no variant is called '" + support::printable(name) + "'" + (near ? "; did you mean '" + *near + "'?" : "") +
         " known: " + support::join(names, ", ") + "\n" + refusals_text(registry.refused());
}

int describe(const Global& global, const std::string& name, bool json) {
  const auto registry = run::open_registry(global.plugin_path);
  const auto* variant = registry->find(name);
  if (variant == nullptr) {
    std::cerr << "runner: " << unknown(*registry, name);
    return kUsage;
  }
  if (json) {
    print_json(as_json(*variant));
  } else {
    print(*variant);
  }
  return kOk;
}

}  // namespace

void add_describe(CLI::App& app, Global& global) {
  struct Options {
    std::string name;
    bool json = false;
  };
  const auto options = std::make_shared<Options>();
  auto& command = add_command(app, global, "describe", "what a variant computes, promises and takes",
                              "  runner describe multi_head_attention\n  runner describe softmax --json",
                              [&global, options] { return describe(global, options->name, options->json); });
  command.add_option("NAME", options->name, "a variant, as listed by `runner list`")->required();
  command.add_flag("--json", options->json, "print one JSON object");
}

}  // namespace headwright::runner

// `runner describe`: one variant with its parameters.
#include <cmath>
#include <iostream>

#include "bind/schema.h"
#include "commands.h"
#include "exit_code.h"
#include "print.h"
#include "reports.h"

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

/// For documents: what it is, then its parameters as a table.
void print_markdown(const VariantSpec& variant) {
  const auto claims = usual_claims(variant);
  std::cout << "## `" << variant.name << "`\n\n"
            << bind::markdown_text(variant.summary) << ".\n\n- kind: " << to_string(variant.kind)
            << "\n- source: " << bind::markdown_text(variant.source) << '\n';
  if (!claims.cost.empty()) std::cout << "- cost: " << bind::markdown_text(claims.cost) << '\n';
  std::cout << "- claims: " << claims_text(claims, variant.kind) << "\n\n"
            << (variant.params.empty() ? "It takes no parameters.\n" : bind::markdown(variant.params));
}

struct Options {
  std::string name;
  bool json = false, markdown = false;
};

int describe(const Global& global, const Options& options) {
  const auto registry = run::open_registry(global.plugin_path);
  const auto& variant = variant_called(*registry, options.name);
  if (options.json) {
    print_json(as_json(variant));
  } else if (options.markdown) {
    print_markdown(variant);
  } else {
    print(variant);
  }
  return kOk;
}

}  // namespace

void add_describe(CLI::App& app, Global& global) {
  const auto options = std::make_shared<Options>();
  auto& command = add_command(app, global, "describe", "what a variant computes, promises and takes",
                              "  runner describe multi_head_attention\n"
                              "  runner describe softmax --json\n"
                              "  runner describe softmax --markdown   for documents",
                              [&global, options] { return describe(global, *options); });
  command.add_option("NAME", options->name, "a variant, as listed by `runner list`")->required()->type_name("VARIANT");
  auto* json = command.add_flag("--json", options->json, "print one JSON object");
  command.add_flag("--markdown", options->markdown, "print a section of markdown")->excludes(json);
}

}  // namespace headwright::runner

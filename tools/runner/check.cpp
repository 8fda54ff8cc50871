// `runner check`: whether a variant keeps its promises.
#include "check/check.h"

#include <algorithm>
#include <iostream>

#include "check/settings.h"
#include "commands.h"
#include "exit_code.h"
#include "headwright/errors.h"
#include "print.h"
#include "reports.h"
#include "support/text.h"

namespace headwright::runner {
namespace {

namespace fs = std::filesystem;

struct Options {
  std::string name;
  std::vector<std::string> settings;
  bool json = false;
};

struct Checked {
  std::string variant;
  std::vector<check::Property> properties;
  std::vector<std::string> not_asked;
};

bool is_library(const std::string& name) { return name.find('/') != std::string::npos || name.ends_with(".so"); }

/// The variants of one library, which need not be on the plugin path. Throws PluginError where it is refused.
std::vector<const VariantSpec*> variants_in(const registry::Registry& registry, const fs::path& library) {
  const auto file = fs::absolute(library).lexically_normal().string();
  for (const auto& refusal : registry.refused()) {
    if (refusal.file == file) throw PluginError(file + ": " + refusal.reason);
  }
  std::vector<const VariantSpec*> variants;
  for (const auto& provided : registry.provided()) {
    if (provided.file == file) variants.push_back(registry.find(provided.name));
  }
  return variants;
}

std::vector<Checked> check_all(const Global& global, const Options& options) {
  auto search = global.plugin_path;
  const bool library = is_library(options.name);
  if (library) {
    if (fs::is_directory(options.name)) throw InputError(options.name + ": is a folder, expected a plugin library");
    search.insert(search.begin(), options.name);
  }
  const auto registry = run::open_registry(search);
  std::vector<const VariantSpec*> variants;
  if (library) variants = variants_in(*registry, options.name);
  else variants.push_back(&variant_called(*registry, options.name));

  std::vector<Checked> all;
  for (const auto* variant : variants) {
    const auto settings = check::read_settings(*variant, *registry, options.settings);
    const auto& [dims, values] = settings;
    auto properties = check::run_checks(*variant, dims, values);
    const bool makes_claims = properties.front().passed;
    all.push_back({variant->name, std::move(properties),
                   makes_claims ? check::not_asked(*variant, dims, values) : std::vector<std::string>()});
  }
  return all;
}

std::size_t failures(const Checked& checked) {
  return static_cast<std::size_t>(std::ranges::count(checked.properties, false, &check::Property::passed));
}

/// The name of the variant, or of the library where it holds several.
Json as_json(const std::vector<Checked>& all, const std::string& asked, bool passed) {
  Json object{{"name", all.size() == 1 ? all[0].variant : asked},
              {"passed", passed},
              {"properties", Json::array()},
              {"not_asked", Json::array()}};
  for (const auto& checked : all) {
    for (const auto& [name, holds, detail] : checked.properties) {
      object["properties"].push_back(
          {{"variant", checked.variant}, {"name", name}, {"passed", holds}, {"detail", detail}});
    }
    for (const auto& name : checked.not_asked) {
      object["not_asked"].push_back({{"variant", checked.variant}, {"name", name}});
    }
  }
  return object;
}

void print(const Checked& checked) {
  std::vector<std::vector<std::string>> rows{{"PROPERTY", "", "WHAT IS ASKED, OR WHAT WAS FOUND"}};
  for (const auto& [name, passed, detail] : checked.properties) {
    rows.push_back({name, passed ? "holds" : "FAILS", detail});
  }
  const auto failed = failures(checked), asked = checked.properties.size();
  std::cout << table_text(rows) << checked.variant << ": "
            << (failed == 0 ? "all " + std::to_string(asked) + " properties hold"
                            : std::to_string(failed) + " of " + std::to_string(asked) + " properties fail")
            << '\n';
  if (checked.not_asked.empty()) return;
  std::cout << "not asked, since not promised with these settings: " << support::join(checked.not_asked, ", ") << '\n';
}

int check_variant(const Global& global, const Options& options) {
  run::set_up_process(1);  // sizes so small that threads would wait for each other
  const auto all = check_all(global, options);
  const bool passed = std::ranges::all_of(all, [](const Checked& checked) { return failures(checked) == 0; });
  if (options.json) {
    print_json(as_json(all, options.name, passed));
  } else {
    for (const auto& checked : all) print(checked);
  }
  return passed ? kOk : kDiffers;
}

}  // namespace

void add_check(CLI::App& app, Global& global) {
  const auto options = std::make_shared<Options>();
  auto& command = add_command(app, global, "check", "whether a variant keeps what it promises",
                              "  runner check softmax\n"
                              "  runner check softmax --set mask=causal --set n_heads=4 --set n_kv_heads=2\n"
                              "  runner check path/to/my_plugin.so --json",
                              [&global, options] { return check_variant(global, *options); });
  command.add_option("NAME", options->name, "a variant, as listed by `runner list`, or a plugin library")
      ->required()
      ->type_name("VARIANT");
  command
      .add_option("--set", options->settings,
                  "a parameter of the variant, or a size: d_model, n_heads, n_kv_heads, d_head, context_length, "
                  "d_memory, vocab_size, kernel; may be repeated")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  command.add_flag("--json", options->json, "print one JSON object");
}

}  // namespace headwright::runner

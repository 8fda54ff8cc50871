// `runner validate`: every problem of configs.
#include <iostream>

#include "commands.h"
#include "exit_code.h"
#include "problems.h"
#include "support/text.h"

namespace headwright::runner {
namespace {

struct Options {
  std::vector<std::filesystem::path> configs;
  ConfigOptions settings;
  bool json = false;
};

/// The problems of one config; none = it is valid.
Failure failure_of(const Global& global, const Options& options, const std::filesystem::path& config) {
  auto request = options.settings.request(global);
  request.config = config;
  try {
    run::open(request);
    return {kOk, {}};
  } catch (...) {
    auto failure = current_failure();
    for (auto& problem : failure.problems) {
      if (problem.file.empty()) problem.file = config.string();
    }
    return failure;
  }
}

int validate(const Global& global, const Options& options) {
  Failure all{kOk, {}};
  for (const auto& config : options.configs) {
    const auto [code, problems] = failure_of(global, options, config);
    if (all.code == kOk) all.code = code;
    all.problems.insert(all.problems.end(), problems.begin(), problems.end());
    if (options.json) continue;
    std::cerr << problems_text(problems);
    if (problems.empty()) std::cout << support::printable(config.string(), std::string::npos) << ": valid\n";
  }
  if (!options.json) return all.code;
  Json object{{"valid", all.code == kOk}};
  object.update(problems_json(all.problems, all.code));
  print_json(object);
  return all.code;
}

}  // namespace

void add_validate(CLI::App& app, Global& global) {
  const auto options = std::make_shared<Options>();
  auto& command = add_command(app, global, "validate", "check configs without running them",
                              "  runner validate configs/models/*.yaml\n"
                              "  runner validate a.yaml --set model.n_heads=5 --json",
                              [&global, options] { return validate(global, *options); });
  command.add_option("CONFIG", options->configs, "YAML configs")->required()->type_name("FILE");
  options->settings.add_settings_to(command);
  command.add_flag("--json", options->json, "print one JSON object");
}

}  // namespace headwright::runner

#include <iostream>

#include "commands.h"
#include "exit_code.h"
#include "headwright/errors.h"
#include "support/text.h"

namespace headwright::runner {
namespace {

struct Options {
  std::vector<std::filesystem::path> configs;
  ConfigOptions settings;
  bool json = false;
};

/// The problems of one config; none = it is valid.
std::vector<Problem> problems_of(const Global& global, const Options& options, const std::filesystem::path& config) {
  auto request = options.settings.request(global);
  request.config = config;
  try {
    run::open(request);
    return {};
  } catch (const ConfigError& error) {
    return error.problems();
  } catch (const InputError& error) {
    return {{.file = config.string(), .message = error.what()}};
  }
}

Json as_json(const Problem& problem) {
  Json object;
  object["file"] = problem.file;
  object["line"] = problem.line;
  object["column"] = problem.column;
  object["path"] = problem.path;
  object["message"] = problem.message;
  object["suggestion"] = problem.suggestion;
  return object;
}

int validate(const Global& global, const Options& options) {
  auto errors = Json::array();
  for (const auto& config : options.configs) {
    const auto problems = problems_of(global, options, config);
    for (const auto& problem : problems) {
      errors.push_back(as_json(problem));
      if (!options.json) std::cerr << problem.to_string() << '\n';
    }
    if (problems.empty() && !options.json) std::cout << config.string() << ": valid\n";
  }
  const bool valid = errors.empty();
  if (options.json) print_json({{"valid", valid}, {"errors", std::move(errors)}});
  return valid ? kOk : kUsage;
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

// `runner doctor`: what this installation has and finds.
#include <ATen/Parallel.h>

#include <iostream>

#include "commands.h"
#include "exit_code.h"
#include "headwright/abi.h"
#include "model/build.h"
#include "print.h"
#include "reports.h"
#include "support/system.h"
#include "support/text.h"
#include "support/threads.h"

namespace headwright::runner {
namespace {

Json as_json(const registry::Registry& registry) {
  Json object;
  object["versions"] = {
      {"headwright", HEADWRIGHT_VERSION}, {"abi", std::to_string(kAbiNumber)}, {"toolchain", HEADWRIGHT_TOOLCHAIN}};
  object["devices"] = model::usable_devices();
  object["threads"] = at::get_num_threads();
  object["threads_from"] = support::usual_threads().from;
  object["memory"] = support::usable_memory();
  object["plugin_paths"] = Json::array();
  for (const auto& path : registry.searched()) object["plugin_paths"].push_back(path.string());
  object["plugins"] = Json::array();
  for (const auto& provided : registry.provided()) object["plugins"].push_back(provided.name);
  object["refused"] = refusals_json(registry.refused());
  return object;
}

int doctor(const Global& global, bool json) {
  run::set_up_process();
  const auto registry = run::find_plugins(global.plugin_path);
  const auto report = as_json(*registry);
  if (json) {
    print_json(report);
    return kOk;
  }
  const auto joined = [&](const char* key) { return support::join(report[key].get<std::vector<std::string>>(), ", "); };
  std::cout << table_text(
                   {{"headwright", HEADWRIGHT_VERSION},
                    {"plugin ABI", std::to_string(kAbiNumber)},
                    {"built with", HEADWRIGHT_TOOLCHAIN},
                    {"devices", joined("devices")},
                    {"threads", std::to_string(at::get_num_threads()) + " (" + support::usual_threads().from + ")"},
                    {"memory", support::bytes_text(static_cast<double>(support::usable_memory()))},
                    {"plugin paths", joined("plugin_paths")},
                    {"plugins", joined("plugins")}})
            << refusals_text(registry->refused());
  return kOk;
}

}  // namespace

void add_doctor(CLI::App& app, Global& global) {
  const auto json = std::make_shared<bool>(false);
  auto& command = add_command(app, global, "doctor", "versions, devices, threads and plugins of this installation",
                              "  runner doctor", [&global, json] { return doctor(global, *json); });
  command.add_flag("--json", *json, "print one JSON object");
}

}  // namespace headwright::runner

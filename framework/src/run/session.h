// A config on its way to tensors: the steps that every command shares.
#pragma once
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bind/plan.h"
#include "registry/registry.h"
#include "run/input_choice.h"

namespace headwright::run {

/// What a command line says about configs and plugins.
struct Request {
  std::filesystem::path config;
  std::vector<std::string> overrides;              // "model.d_model=64"
  std::vector<std::filesystem::path> plugin_path;  // --plugin-path
  std::optional<InputChoice> input;                // --input, --tokens or --random instead of the config's own
};

/// --plugin-path, HEADWRIGHT_PLUGIN_PATH, the config's own list, the folder beside the executable. What is refused is
/// only listed: for a command that reports on libraries.
std::unique_ptr<registry::Registry> find_plugins(const std::vector<std::filesystem::path>& first,
                                                 const std::vector<std::filesystem::path>& of_config = {});

/// The same for a command that uses them: throws PluginError where a library that was named itself is refused, and
/// warns of those found in a folder.
std::unique_ptr<registry::Registry> open_registry(const std::vector<std::filesystem::path>& first,
                                                  const std::vector<std::filesystem::path>& of_config = {});

struct Session {
  std::unique_ptr<registry::Registry> registry;
  bind::Plan plan;
};

/// Loads, overrides, and resolves a config. Throws ConfigError, PluginError, InputError.
Session open(const Request& request);

/// Threads and memory; before the first tensor. threads: absent = what the process may use.
void set_up_process(std::optional<int> threads = {});

}  // namespace headwright::run

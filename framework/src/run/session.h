// A config on its way to tensors: the steps that every command shares.
#pragma once
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bind/config.h"
#include "registry/registry.h"

namespace headwright::run {

/// What a command line says about configs and plugins.
struct Request {
  std::filesystem::path config;
  std::vector<std::string> overrides;              // "model.d_model=64"
  std::vector<std::filesystem::path> plugin_path;  // --plugin-path
  std::optional<bind::InputChoice> input;          // --input, --tokens or --random instead of the config's own
};

/// --plugin-path, HEADWRIGHT_PLUGIN_PATH, the config's own list, the folder beside the executable. What is refused is
/// only listed: for a command that reports on libraries.
std::unique_ptr<registry::Registry> find_plugins(const std::vector<std::filesystem::path>& first,
                                                 const std::vector<std::filesystem::path>& of_config = {});

/// The same for a command that uses them: throws PluginError where a library that was named itself is refused, and
/// warns of those found in a folder. It throws where a folder that
/// was named holds no library, too.
std::unique_ptr<registry::Registry> open_registry(const std::vector<std::filesystem::path>& first,
                                                  const std::vector<std::filesystem::path>& of_config = {});

struct Session {
  std::unique_ptr<registry::Registry> registry;
  bind::Plan plan;
};

/// Loads, overrides, and resolves a config. Throws ConfigError, PluginError, InputError.
Session open(const Request& request);

/// The same for a config that is loaded already.
Session open(const bind::Config& config, const std::vector<std::filesystem::path>& plugin_path);

/// Loads and overrides alone.
bind::Config load(const Request& request);

/// Threads and memory; before the first tensor. threads: absent = as the environment says, else what the process may
/// use. Throws ResourceError where the system does not give so many.
void set_up_process(std::optional<std::int64_t> threads = {});

/// As the plan says; a refusal names the place.
void set_up_process(const bind::Plan& plan);

}  // namespace headwright::run

#include "run/session.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>

#include <cstdlib>
#include <string_view>

#include "bind/resolve.h"
#include "headwright/errors.h"
#include "model/build.h"
#include "run/input_choice.h"
#include "spec/load.h"
#include "support/files.h"
#include "support/system.h"
#include "support/text.h"

namespace headwright::run {
namespace {

std::vector<std::filesystem::path> from_environment() {
  std::vector<std::filesystem::path> paths;
  const char* value = std::getenv("HEADWRIGHT_PLUGIN_PATH");
  if (value == nullptr) return paths;
  for (const auto& part : support::split(value, ':')) {
    if (!part.empty()) paths.emplace_back(part);
  }
  return paths;
}

bool allows_unsealed() {
  const char* value = std::getenv("HEADWRIGHT_ALLOW_UNSEALED");
  return value != nullptr && std::string_view(value) == "1";
}

/// The runner itself; seen from a test of the build tree, the one in the folder above.
std::filesystem::path probe_for(const std::filesystem::path& folder) {
  const auto beside = folder / "runner";
  return std::filesystem::exists(beside) ? beside : folder.parent_path() / "runner";
}

/// Where the shipped plugins are: in a build tree beside the runner, in an installation under lib. Empty = nowhere.
std::filesystem::path shipped_plugins(const std::filesystem::path& folder) {
  for (auto plugins : {folder / "plugins", folder.parent_path() / "lib/headwright/plugins"}) {
    if (std::filesystem::is_directory(plugins)) return plugins;
  }
  return {};
}

}  // namespace

std::unique_ptr<registry::Registry> find_plugins(const std::vector<std::filesystem::path>& first,
                                                 const std::vector<std::filesystem::path>& of_config) {
  auto search = first;
  for (auto& path : from_environment()) search.push_back(std::move(path));
  search.insert(search.end(), of_config.begin(), of_config.end());
  const auto beside = support::executable_folder();
  if (auto shipped = shipped_plugins(beside); !shipped.empty()) search.push_back(std::move(shipped));
  return std::make_unique<registry::Registry>(registry::Options{.search_path = search,
                                                                .probe = probe_for(beside),
                                                                .cache_folder = support::cache_folder(),
                                                                .allow_unsealed = allows_unsealed()});
}

std::unique_ptr<registry::Registry> open_registry(const std::vector<std::filesystem::path>& first,
                                                  const std::vector<std::filesystem::path>& of_config) {
  auto registry = find_plugins(first, of_config);
  registry->expect_asked_for();
  return registry;
}

Session open(const Request& request) {
  auto root = spec::load(request.config);
  for (const auto& assignment : request.overrides) spec::apply_override(root, assignment);
  if (request.input) choose_input(root, *request.input);
  Session session{open_registry(request.plugin_path, bind::plugin_paths(root)), {}};
  session.plan = bind::resolve(root, *session.registry);
  model::expect_kernels(session.plan);
  return session;
}

void set_up_process(std::optional<int> threads) {
  support::keep_freed_memory();
  if (!at::hasCUDA()) support::limit_memory();  // CUDA reserves addresses far beyond memory
  at::set_num_threads(threads.value_or(support::usable_processors()));
}

}  // namespace headwright::run

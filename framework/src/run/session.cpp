// Opens the registry, reads the config, applies the command line, and builds the model.
#include "run/session.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "headwright/errors.h"
#include "model/build.h"
#include "run/input_values.h"
#include "support/files.h"
#include "support/system.h"
#include "support/text.h"
#include "support/threads.h"

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

/// A folder that was named and holds no library is the wrong one, or not yet built.
void expect_libraries(const std::vector<std::filesystem::path>& named) {
  for (const auto& path : named) {
    std::error_code failed;
    auto entry = std::filesystem::directory_iterator(path, failed);
    if (failed) continue;  // a library, or something that the registry refuses
    const auto is_library = [](const auto& file) { return file.path().extension() == ".so"; };
    if (std::none_of(entry, std::filesystem::directory_iterator(), is_library)) {
      throw PluginError("plugin path '" + path.string() + "': the folder holds no plugin, expected files such as " +
                        (path / "my_attention.so").string());
    }
  }
}

/// Values of an input that its dtype does not hold are known without running it.
Session checked(Session session) {
  model::expect_kernels(session.plan);
  expect_values_fit(session.plan);
  session.plan.name = support::printable(session.plan.name, std::string::npos);  // it is printed in many places
  return session;
}

void take_threads(std::int64_t count, const std::string& who) {
  support::keep_freed_memory();
  if (!at::hasCUDA()) support::limit_memory();  // CUDA reserves addresses far beyond memory
  if (const auto why = support::why_not_threads(count); !why.empty()) {
    throw ResourceError(who + ": got " + std::to_string(count) + ", but " + why);
  }
  at::set_num_threads(static_cast<int>(count));
}

}  // namespace

std::unique_ptr<registry::Registry> find_plugins(const std::vector<std::filesystem::path>& first,
                                                 const std::vector<std::filesystem::path>& of_config) {
  auto search = first;
  for (auto& path : from_environment()) search.push_back(std::move(path));
  search.insert(search.end(), of_config.begin(), of_config.end());
  expect_libraries(search);
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

bind::Config load(const Request& request) {
  bind::Config config(request.config);
  for (const auto& assignment : request.overrides) config.set(assignment);
  if (request.input) config.choose(*request.input);
  return config;
}

Session open(const Request& request) { return open(load(request), request.plugin_path); }

Session open(const bind::Config& config, const std::vector<std::filesystem::path>& plugin_path) {
  Session session{open_registry(plugin_path, config.plugin_paths()), {}};
  session.plan = config.resolve(*session.registry);
  return checked(std::move(session));
}

void set_up_process(std::optional<std::int64_t> threads) {
  if (threads) return take_threads(*threads, "threads");
  const auto usual = support::usual_threads();
  take_threads(usual.count, usual.from);
}

void set_up_process(const bind::Plan& plan) {
  if (!plan.run.threads) return set_up_process();
  const auto mark = bind::mark_of(plan, "run.threads").value_or(spec::Mark{.file = bind::file_of(plan)});
  take_threads(*plan.run.threads,
               mark.file + ":" + std::to_string(mark.line) + ":" + std::to_string(mark.column) + ": run.threads");
}

}  // namespace headwright::run

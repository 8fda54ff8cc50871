// A config between its file and its plan. Whoever uses it sees no YAML.
#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bind/input_choice.h"
#include "bind/plan.h"
#include "registry/registry.h"

namespace headwright::bind {

class Config {
 public:
  /// Reads a file. Throws ConfigError where it is none, or no config.
  explicit Config(const std::filesystem::path& file);

  /// "model.d_model=64", as the option --set gives it. Throws ConfigError.
  void set(std::string_view assignment);

  /// Takes the place of the input that the file gives.
  void choose(const InputChoice& input);

  bool has_input() const;
  Config without_input() const;

  /// Its own `plugins:` list, relative paths seen from the file's folder. Read before there is a registry.
  std::vector<std::filesystem::path> plugin_paths() const;

  /// Throws ConfigError with every problem of the file.
  Plan resolve(registry::Registry& registry) const;

  /// The input alone, for a model that the file's own is not. problems: what does not fit it.
  InputPlan input_for(const ModelPlan& model, registry::Registry& registry, std::vector<Problem>& problems) const;

 private:
  spec::Node root_;
};

/// The config with every value, as YAML that reads back to the same plan.
std::string text_of(const Plan& plan);

/// The same with a remark behind each value that was computed.
std::string annotated_text(const Plan& plan);

/// Where each value came from, by its path: "a.yaml:4:12", "default". Lists are one value.
std::vector<std::pair<std::string, std::string>> origins(const Plan& plan);

/// Where the value at a path of keys and indices stands; nothing where none is written.
std::optional<spec::Mark> mark_of(const Plan& plan, const std::string& path);

/// The config's own file.
std::string file_of(const Plan& plan);

}  // namespace headwright::bind

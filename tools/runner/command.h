// What the commands share: the global options, the options of a config, and how a command is declared.
#pragma once
#include <CLI/App.hpp>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "run/session.h"

namespace headwright::runner {

using Json = nlohmann::ordered_json;

struct Global {
  std::vector<std::filesystem::path> plugin_path;
  std::string log_level = "warn", color = "auto";
  std::function<int()> action;  // of the command that was named
};

/// Help of the program and of every command added after this.
void put_examples_first(CLI::App& app);

/// A subcommand whose help begins with its examples. `action` runs after parsing and returns the exit code.
CLI::App& add_command(CLI::App& app, Global& global, const std::string& name, const std::string& summary,
                      const std::string& examples, std::function<int()> action);

/// CONFIG, --set, --device, --dtype.
struct ConfigOptions {
  std::filesystem::path config;
  std::vector<std::string> overrides;
  std::string device, dtype;

  void add_to(CLI::App& command);
  void add_settings_to(CLI::App& command);  // without CONFIG
  run::Request request(const Global& global) const;
};

/// --input, --tokens, --random: at most one.
struct InputOptions {
  std::string file, tokens, random;

  void add_to(CLI::App& command);
  std::optional<bind::InputChoice> choice() const;
};

/// Throws InputError where two of the files are one: what is written last would be all that stays. Empty = not given.
void expect_apart(const std::vector<std::pair<std::string, std::filesystem::path>>& files);

std::string json_text(const Json& object);  // with a newline

/// Prints one JSON object and a newline.
void print_json(const Json& object);

}  // namespace headwright::runner

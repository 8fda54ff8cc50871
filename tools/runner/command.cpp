// What commands share: declaring one, the global options, the options of a config.
#include "command.h"

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <iostream>
#include <map>

#include "headwright/errors.h"

namespace headwright::runner {

namespace {

/// A command's own help begins with its examples; the list of commands shows the first line alone.
class ExamplesFirst final : public CLI::Formatter {
 public:
  std::string make_subcommand(const CLI::App* command) const override {
    const auto text = command->get_description();
    std::stringstream line;
    CLI::detail::format_help(line, command->get_display_name(true), text.substr(0, text.find('\n')), column_width_);
    return line.str();
  }
  std::string make_description(const CLI::App* app) const override {
    return CLI::Formatter::make_description(app) + "\n";
  }
};

}  // namespace

void put_examples_first(CLI::App& app) { app.formatter(std::make_shared<ExamplesFirst>()); }

CLI::App& add_command(CLI::App& app, Global& global, const std::string& name, const std::string& summary,
                      const std::string& examples, std::function<int()> action) {
  auto* command = app.add_subcommand(name, summary);
  command->description(summary + "\n\nExamples:\n" + examples);
  command->fallthrough();  // so that the global options may stand behind the command, too
  command->callback([&global, action = std::move(action)] { global.action = action; });
  return *command;
}

void ConfigOptions::add_to(CLI::App& command) {
  command.add_option("CONFIG", config, "a YAML config")->required()->type_name("FILE");
  add_settings_to(command);
}

void ConfigOptions::add_settings_to(CLI::App& command) {
  command.add_option("--set", overrides, "change a value of the config, such as model.d_model=64; may be repeated")
      ->type_name("PATH=VALUE")
      ->allow_extra_args(false);
  command.add_option("--device", device, "the same as --set run.device=NAME")->type_name("NAME");
  command.add_option("--dtype", dtype, "the same as --set run.dtype=NAME")->type_name("NAME");
}

run::Request ConfigOptions::request(const Global& global) const {
  run::Request request{.config = config, .overrides = overrides, .plugin_path = global.plugin_path};
  if (!device.empty()) request.overrides.push_back("run.device=" + device);
  if (!dtype.empty()) request.overrides.push_back("run.dtype=" + dtype);
  return request;
}

void InputOptions::add_to(CLI::App& command) {
  auto* from_file = command.add_option("--input", file, "take the input from a .npy or .safetensors file")
                        ->type_name("FILE[:TENSOR]");
  auto* from_tokens = command.add_option("--tokens", tokens, "token ids, such as 15496,11,314; rows apart by ';'")
                          ->type_name("IDS")
                          ->excludes(from_file);
  command.add_option("--random", random, "a seeded random input, such as 2,6,768 for (batch, seq, width)")
      ->type_name("SHAPE")
      ->excludes(from_file)
      ->excludes(from_tokens);
}

std::optional<bind::InputChoice> InputOptions::choice() const {
  using Key = bind::InputChoice::Key;
  if (!file.empty()) return bind::InputChoice{Key::file, file};
  if (!tokens.empty()) return bind::InputChoice{Key::tokens, tokens};
  if (!random.empty()) return bind::InputChoice{Key::random, random};
  return {};
}

void expect_apart(const std::vector<std::pair<std::string, std::filesystem::path>>& files) {
  std::map<std::filesystem::path, std::string> known;
  for (const auto& [name, file] : files) {
    if (file.empty()) continue;
    std::error_code ignored;
    const auto whole = std::filesystem::weakly_canonical(std::filesystem::absolute(file, ignored), ignored);
    const auto [found, fresh] = known.emplace(whole, name);
    if (!fresh) {
      throw InputError(found->second + " and " + name + " are one file, " + file.string() + "; name another one");
    }
  }
}

std::string json_text(const Json& object) { return object.dump(2, ' ', false, Json::error_handler_t::replace) + "\n"; }

void print_json(const Json& object) { std::cout << json_text(object); }

}  // namespace headwright::runner

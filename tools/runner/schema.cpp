// `runner schema`: the config language as JSON Schema.
#include "bind/schema.h"

#include <iostream>

#include "commands.h"
#include "exit_code.h"
#include "support/files.h"

namespace headwright::runner {
namespace {

struct Options {
  std::string format = "json";
  std::filesystem::path output;
  bool json = false;
};

int schema(const Global& global, const Options& options) {
  const auto registry = run::open_registry(global.plugin_path);
  const auto text = options.format == "markdown" ? bind::markdown() : bind::schema(*registry).dump(2) + "\n";
  if (options.output.empty()) {
    std::cout << text;
    return kOk;
  }
  support::write_file(options.output, text);
  if (options.json) print_json({{"file", options.output.string()}});
  return kOk;
}

}  // namespace

void add_schema(CLI::App& app, Global& global) {
  const auto options = std::make_shared<Options>();
  auto& command = add_command(app, global, "schema", "the config language, for editors and for readers",
                              "  runner schema -o configs/schema.json   JSON Schema: editors complete keys from it\n"
                              "  runner schema --format markdown        tables of every key",
                              [&global, options] { return schema(global, *options); });
  command.add_option("-o,--output", options->output, "write a file instead of stdout")->type_name("FILE");
  command.add_option("--format", options->format, "json or markdown")
      ->check(CLI::IsMember({"json", "markdown"}))
      ->capture_default_str();
  command.add_flag("--json", options->json, "with -o: say what was written as one JSON object");
}

}  // namespace headwright::runner

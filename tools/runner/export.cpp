// `runner export`: a model as a file.
#include <iostream>

#include "commands.h"
#include "exit_code.h"
#include "exporter/exporter.h"
#include "model/build.h"
#include "print.h"
#include "reports.h"
#include "support/text.h"

namespace headwright::runner {
namespace {

struct Options {
  ConfigOptions config;
  std::filesystem::path output;
  std::string format;
  bool json = false;
};

Json as_json(const exporter::Report& report) {
  Json object;
  object["file"] = report.file;
  object["format"] = report.format;
  object["parameters"] = report.parameters;
  object["sha256"] = report.sha256;
  object["dynamic"] = report.dynamic;
  object["checked"] = checks_json(report.checked);
  return object;
}

int write(const Global& global, const Options& options) {
  expect_apart({{"CONFIG", options.config.config}, {"--output", options.output}});
  const auto session = run::open(options.config.request(global));
  model::expect_kernels(session.plan, model::Use::exported);
  run::set_up_process(session.plan);
  const auto model = model::build(session.plan);
  const auto format = options.format.empty() ? exporter::format_for(options.output) : options.format;
  const auto report = exporter::write(*model, session.plan, format, options.output);
  if (options.json) {
    print_json(as_json(report));
    return kOk;
  }
  std::cout << printable_lines(report.file) << ": " << report.format << ", "
            << support::with_thousands(report.parameters) << " parameters, "
            << (report.dynamic ? "any batch size and length" : "one shape only") << "\nsha256 " << report.sha256 << '\n'
            << checks_text(report.checked);
  return kOk;
}

}  // namespace

void add_export(CLI::App& app, Global& global) {
  const auto options = std::make_shared<Options>();
  auto& command =
      add_command(app, global, "export", "write a config's model to a file",
                  "  runner export configs/models/tiny_gpt.yaml -o tiny.pt            torch.jit.load reads it\n"
                  "  runner export configs/models/tiny_gpt.yaml -o tiny.safetensors   the weights alone",
                  [&global, options] { return write(global, *options); });
  options->config.add_to(command);
  command.add_option("-o,--output", options->output, "the file to write")->required()->type_name("FILE");
  command.add_option("--format", options->format, "instead of the one that the file's ending says")
      ->check(CLI::IsMember(exporter::formats()));
  command.add_flag("--json", options->json, "print one JSON object");
}

}  // namespace headwright::runner

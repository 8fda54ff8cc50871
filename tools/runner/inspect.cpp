// `runner inspect`: what a file of a model says about itself.
#include <iostream>

#include "commands.h"
#include "exit_code.h"
#include "exporter/exporter.h"
#include "print.h"
#include "reports.h"
#include "support/text.h"

namespace headwright::runner {
namespace {

struct Options {
  std::filesystem::path file;
  bool json = false;
};

Json as_json(const exporter::Inspection& found) {
  Json object;
  object["file"] = found.file;
  object["format"] = found.format;
  object["valid"] = found.valid;
  if (!found.detail.empty()) object["detail"] = found.detail;
  object["sha256"] = found.sha256;
  object["config"] = found.config;
  object["versions"] = found.versions;
  object["parameters"] = found.parameters;
  object["dynamic"] = found.dynamic;
  object["checked"] = checks_json(found.checked);
  return object;
}

int inspect(const Options& options) {
  const auto found = exporter::inspect(options.file);
  if (options.json) {
    print_json(as_json(found));
    return found.valid ? kOk : kDiffers;
  }
  std::cout << printable_lines(found.file) << ": " << found.format << ", " << support::with_thousands(found.parameters)
            << " parameters, " << (found.valid ? "valid" : "NOT VALID: " + printable_lines(found.detail)) << "\nsha256 "
            << found.sha256 << '\n';
  for (const auto& [name, version] : found.versions) {
    std::cout << printable_lines(name) << ' ' << printable_lines(version) << '\n';
  }
  std::cout << checks_text(found.checked) << "\nconfig:\n" << printable_lines(found.config);
  return found.valid ? kOk : kDiffers;
}

}  // namespace

void add_inspect(CLI::App& app, Global& global) {
  const auto options = std::make_shared<Options>();
  auto& command = add_command(app, global, "inspect", "what an exported file holds, and if it is whole",
                              "  runner inspect tiny.pt", [options] { return inspect(*options); });
  command.add_option("FILE", options->file, "a file written by export")->required();
  command.add_flag("--json", options->json, "print one JSON object");
}

}  // namespace headwright::runner

// `runner seal`: the checksum for a library built by hand.
#include "registry/seal.h"

#include <iostream>

#include "commands.h"
#include "exit_code.h"
#include "headwright/errors.h"
#include "registry/elf.h"

namespace headwright::runner {
namespace {

struct Options {
  std::vector<std::filesystem::path> files;
  bool json = false;
};

int seal(const Options& options) {
  for (const auto& file : options.files) {  // all of them, before any is written
    if (auto fault = registry::elf_fault(file); !fault.empty()) throw InputError(file.string() + ": " + fault);
  }
  Json object{{"sealed", Json::array()}};
  for (const auto& file : options.files) {
    registry::seal_library(file);
    object["sealed"].push_back(file.string());
    if (!options.json) std::cout << file.string() << ": sealed\n";
  }
  if (options.json) print_json(object);
  return kOk;
}

}  // namespace

void add_seal(CLI::App& app, Global& global) {
  const auto options = std::make_shared<Options>();
  auto& command =
      add_command(app, global, "seal", "write into a plugin library the checksum that it is compared with",
                  "  runner seal my_attention.so     after a build by hand; headwright_add_plugin() does it",
                  [options] { return seal(*options); });
  command.add_option("FILE", options->files, "plugin libraries")->required()->type_name("FILE");
  command.add_flag("--json", options->json, "print one JSON object");
}

}  // namespace headwright::runner

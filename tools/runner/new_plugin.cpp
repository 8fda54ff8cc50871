// `runner new-plugin`: a folder to start a variant from.
#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <system_error>

#include "commands.h"
#include "exit_code.h"
#include "headwright/errors.h"
#include "headwright/params.h"
#include "plugin_name.h"
#include "support/files.h"
#include "support/text.h"
#include "templates.h"

namespace headwright::runner {
namespace {

namespace fs = std::filesystem;

struct Options {
  std::string name, kind;
  fs::path into = ".";
  bool json = false;
};

struct File {
  std::string name, text;
};

std::vector<File> files_of(const Options& options) {
  const std::vector<std::pair<std::string, std::string>> values{
      {"NAME", options.name}, {"CLASS", class_name(options.name)}, {"VERSION", HEADWRIGHT_VERSION}};
  return {{options.name + ".cpp", filled_template(options.kind + ".cpp.in", values)},
          {options.name + ".yaml", filled_template(options.kind + ".yaml.in", values)},
          {"CMakeLists.txt", filled_template("CMakeLists.txt.in", values)}};
}

/// The folder appears under its name with all of its files, or not at all.
void write_folder(const fs::path& folder, const std::vector<File>& files) {
  auto unfinished = folder;
  unfinished += ".tmp-" + std::to_string(getpid());
  const auto remove = [&] {
    std::error_code ignored;
    fs::remove_all(unfinished, ignored);
  };
  const auto fail = [&](const std::error_code& error) {
    remove();
    throw FileError(folder.string() + ": cannot be made: " + error.message());
  };
  std::error_code error;
  if (!fs::create_directory(unfinished, error)) fail(error ? error : std::make_error_code(std::errc::file_exists));
  try {
    for (const auto& [name, text] : files) support::write_file(unfinished / name, text);
  } catch (const FileError& failure) {
    remove();
    std::string message = failure.what();  // names the unfinished folder, which nobody knows
    if (const auto at = message.find(unfinished.string()); at != std::string::npos) {
      message.replace(at, unfinished.string().size(), folder.string());
    }
    throw FileError(message);
  } catch (...) {
    remove();
    throw;
  }
  fs::rename(unfinished, folder, error);
  if (error) fail(error);
}

/// The prefix that this runner is installed in.
std::string prefix() {
  const auto prefix = support::executable_folder().parent_path();
  return fs::exists(prefix / "lib/cmake/headwright") ? prefix.string() : "PREFIX";
}

int new_plugin(const Global& global, const Options& options) {
  expect_free_name(*run::open_registry(global.plugin_path), options.name);
  if (!fs::is_directory(options.into)) throw InputError(options.into.string() + ": no such folder");
  const auto folder = (options.into / options.name).lexically_normal();
  if (fs::symlink_status(folder).type() != fs::file_type::not_found) {
    throw InputError(folder.string() + ": exists already; nothing was written");
  }
  const auto files = files_of(options);
  write_folder(folder, files);
  std::vector<std::string> names(files.size());
  std::ranges::transform(files, names.begin(), &File::name);
  if (options.json) {
    print_json({{"name", options.name}, {"kind", options.kind}, {"folder", folder.string()}, {"files", names}});
    return kOk;
  }
  std::cout << "wrote " << folder.string() << ": " << support::join(names, ", ") << "\n\nBuild it and test it:\n"
            << "  cd " << folder.string() << "\n"
            << "  cmake -B build -DCMAKE_PREFIX_PATH=\"" << prefix()
            << ";$(python3 -c 'import torch; print(torch.utils.cmake_prefix_path)')\"\n"
            << "  cmake --build build && ctest --test-dir build\n";
  return kOk;
}

std::vector<std::string> kind_names() {
  std::vector<std::string> names;
  for (const auto kind : kKinds) names.emplace_back(to_string(kind));
  return names;
}

}  // namespace

void add_new_plugin(CLI::App& app, Global& global) {
  const auto options = std::make_shared<Options>();
  auto& command = add_command(app, global, "new-plugin", "a folder with a variant of your own to start from",
                              "  runner new-plugin my_attention --kind attention\n"
                              "  runner new-plugin my_norm --kind norm --into ~/plugins",
                              [&global, options] { return new_plugin(global, *options); });
  command.add_option("NAME", options->name, "what the variant is called in a config")->required();
  command.add_option("--kind", options->kind, "what it is")->required()->check(CLI::IsMember(kind_names()));
  command.add_option("--into", options->into, "an existing folder, which gets the new one")
      ->type_name("DIR")
      ->capture_default_str();
  command.add_flag("--json", options->json, "print one JSON object");
}

}  // namespace headwright::runner

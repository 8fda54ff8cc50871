// Chooses the format by name, and writes the file whole or not at all.
#include "exporter/exporter.h"

#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <fstream>

#include "exporter/formats.h"
#include "headwright/errors.h"
#include "support/text.h"

namespace headwright::exporter {
namespace {

/// The model as it is exported: inference form, without gradients, and on the CPU, since a file that names another
/// device loads only where there is one. Restored at the end.
class ForExport {
 public:
  explicit ForExport(model::Model& model) : model_(model), training_(model.is_training()) {
    const auto parameters = model.parameters();
    if (!parameters.empty()) device_ = parameters.front().device();
    move(at::kCPU);
    model_.eval();
  }
  ~ForExport() {
    move(device_);
    model_.train(training_);
  }
  ForExport(const ForExport&) = delete;
  ForExport& operator=(const ForExport&) = delete;

 private:
  void move(at::Device device) {
    if (!device_.is_cpu()) model_.to(device);
  }

  model::Model& model_;
  const bool training_;
  at::Device device_ = at::kCPU;
  const at::NoGradGuard no_grad_;
};

/// What a file that is none of ours begins with.
std::string describe(std::string_view begin) {
  if (begin.empty()) return "an empty file";
  return "a file that begins with '" + support::printable(begin, 24) + "'";
}

}  // namespace

std::vector<std::string> formats() {
  std::vector<std::string> names;
  for (const auto& format : all_formats()) names.emplace_back(format.name);
  return names;
}

// NOLINTNEXTLINE(modernize-use-string-view): a name that is joined with what a user gave
std::string format_for(const std::filesystem::path& path) {
  std::vector<std::string> usual;
  for (const auto& format : all_formats()) {
    if (std::ranges::find(format.endings, path.extension().string()) != format.endings.end()) return format.name;
    usual.emplace_back(format.endings.front());
  }
  throw InputError(path.string() + ": expected a name that ends in " + support::join(usual, " or ") + ", or --format");
}

Report write(model::Model& model, const bind::Plan& plan, const std::string& format,
             const std::filesystem::path& path) {
  for (const auto& known : all_formats()) {
    if (format != known.name) continue;
    const ForExport prepared(model);
    return known.write(model, plan, path);
  }
  const auto names = formats();
  const auto near = support::nearest(format, names);
  throw InputError("format '" + support::printable(format) + "': unknown" +
                   (near ? "; did you mean '" + *near + "'?" : "") + "; known: " + support::join(names, ", "));
}

Inspection inspect(const std::filesystem::path& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored))
    throw InputError(path.string() + ": found a folder, expected a file written by 'runner export'");
  if (std::filesystem::exists(path, ignored) && !std::filesystem::is_regular_file(path, ignored)) {
    throw InputError(path.string() + ": is not a regular file, expected one written by 'runner export'");
  }
  std::ifstream stream(path, std::ios::binary);
  if (!stream) throw InputError(path.string() + ": cannot be opened; is it there, and readable by you?");
  std::string begin(24, '\0');
  stream.read(begin.data(), static_cast<std::streamsize>(begin.size()));
  begin.resize(static_cast<std::size_t>(stream.gcount()));
  for (const auto& format : all_formats()) {
    if (format.recognises(begin)) return format.inspect(path);
  }
  throw InputError(path.string() + ": found " + describe(begin) + ", expected a file written by 'runner export'");
}

}  // namespace headwright::exporter

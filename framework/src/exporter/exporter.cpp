#include "exporter/exporter.h"

#include <ATen/core/grad_mode.h>

#include <array>
#include <fstream>

#include "exporter/formats.h"
#include "headwright/errors.h"
#include "support/text.h"

namespace headwright::exporter {
namespace {

struct Format {
  const char* name;
  Report (*write)(model::Model&, const bind::Plan&, const std::filesystem::path&);
};
constexpr std::array kFormats{Format{"torchscript", write_torchscript}, Format{"safetensors", write_safetensors}};

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
  names.reserve(kFormats.size());
  for (const auto& format : kFormats) names.emplace_back(format.name);
  return names;
}

// NOLINTNEXTLINE(modernize-use-string-view): a name that is joined with what a user gave
std::string format_for(const std::filesystem::path& path) {
  const auto ending = path.extension();
  if (ending == ".safetensors") return "safetensors";
  if (ending == ".pt" || ending == ".pth" || ending == ".ts") return "torchscript";
  throw InputError(path.string() + ": expected a name that ends in .pt or .safetensors, or --format");
}

Report write(model::Model& model, const bind::Plan& plan, const std::string& format,
             const std::filesystem::path& path) {
  for (const auto& known : kFormats) {
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
  if (begin.starts_with("PK\x03\x04")) return inspect_torchscript(path);
  if (begin.size() > 8 && begin[8] == '{') return inspect_safetensors(path);
  throw InputError(path.string() + ": found " + describe(begin) + ", expected a file written by 'runner export'");
}

}  // namespace headwright::exporter

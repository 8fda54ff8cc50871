// TorchScript: traced, verified, written as a draft, sealed, read back, and only then renamed to its place.
#include <torch/csrc/jit/serialization/export.h>
#include <torch/csrc/jit/serialization/import.h>

#include <algorithm>

#include "bind/config.h"
#include "exporter/archive.h"
#include "exporter/formats.h"
#include "exporter/metadata.h"
#include "exporter/script.h"
#include "exporter/verify.h"
#include "headwright/errors.h"
#include "model/build.h"
#include "support/files.h"
#include "tensor_io/tensor_io.h"

namespace headwright::exporter {
namespace {

/// Batch and length of the config's input: the one shape of an export that is not dynamic.
Size size_of_input(const bind::Plan& plan) {
  const auto shape = [](const bind::TensorSource& source) -> std::vector<std::int64_t> {
    if (source.from != bind::TensorSource::From::file) return source.shape;
    return tensor_io::read_tensor(std::filesystem::path(source.mark.file).parent_path() / source.file, source.tensor)
        .sizes()
        .vec();
  };
  const auto x = shape(plan.input.x), memory = shape(plan.input.memory);
  if (x.size() < 2 || (plan.model.takes_memory() && memory.size() < 2)) {
    throw InputError(plan.name +
                     ": cannot be exported without an input: a layer takes one fixed shape, and the config's "
                     "input says which; add an input section");
  }
  return {x[0], x[1], memory.size() > 1 ? memory[1] : 0};
}

struct Sizes {
  Size traced;
  std::vector<Size> checked;
};

Sizes sizes_for(const bind::Plan& plan) {
  if (!is_dynamic(plan.model)) {
    const auto fixed = size_of_input(plan);
    return {fixed, {fixed}};
  }
  const auto within = [](std::int64_t length, std::int64_t longest) {
    return longest > 0 ? std::min(length, longest) : length;
  };
  const auto size = [&](std::int64_t batch, std::int64_t seq, std::int64_t memory_len) -> Size {
    return {batch, within(seq, plan.model.dims.context_length), within(memory_len, plan.model.longest_memory())};
  };
  // Batch sizes and lengths that differ from the traced ones and from each other, one of each among them, and a length
  // past the 64 tokens that recurrent variants take at once.
  return {size(2, 6, 5), {size(1, 1, 1), size(1, 5, 9), size(4, 67, 3), size(3, 7, 5)}};
}

void serialise(const Script& script, const bind::Plan& plan, const Report& report, support::AtomicFile& draft) {
  const torch::jit::ExtraFilesMap texts{{kConfig, bind::text_of(plan)}, {kMetadata, metadata_text(report)}};
  Sink sink(draft);
  torch::jit::ExportModule(
      script.module, [&](const void* data, std::size_t size) { return sink.write(data, size); }, texts);
  sink.done();
}

Report write_torchscript(model::Model& model, const bind::Plan& plan, const std::filesystem::path& path) {
  support::AtomicFile file(path);  // first, so that a folder without permission is known before the work
  const auto sizes = sizes_for(plan);
  const auto script = make_script(model, plan, sizes.traced);
  Report report{.file = path.string(),
                .format = "torchscript",
                .parameters = model::count_parameters(model),
                .dynamic = is_dynamic(plan.model)};
  report.checked = verify(script, model, plan, sizes.checked);
  {
    support::AtomicFile draft(path);  // never committed
    serialise(script, plan, report, draft);
    report.sha256 = seal(draft.temporary(), file, kDigest);
  }
  const auto written = file.temporary();
  if (Archive(written).digest(kDigest) != report.sha256) {
    throw FileError(path.string() + ": what was written does not read back as it was; is the disk sound?");
  }
  verify_file(torch::jit::load(written.string()), script, plan, sizes.checked.front());
  file.commit();
  return report;
}

Inspection inspect_torchscript(const std::filesystem::path& path) {
  Archive archive(path);
  Inspection inspection{.file = path.string(), .format = "torchscript"};
  const auto carried = archive.text(kDigest), metadata = archive.text(kMetadata), config = archive.text(kConfig);
  if (!carried || !metadata || !config) {
    throw InputError(path.string() +
                     ": found TorchScript that headwright did not write, expected a file written by "
                     "'runner export'");
  }
  inspection.config = *config;
  try {
    inspection.sha256 = archive.digest(kDigest);
  } catch (const InputError& error) {
    inspection.detail = error.what();  // a file of ours, one of whose records cannot be read any more
  }
  judge(inspection, *carried, *metadata);
  return inspection;
}

}  // namespace

Format torchscript_format() {
  return {.name = "torchscript",
          .endings = {".pt", ".pth", ".ts"},
          .recognises = [](std::string_view begin) { return begin.starts_with("PK\x03\x04"); },
          .write = write_torchscript,
          .inspect = inspect_torchscript};
}

}  // namespace headwright::exporter

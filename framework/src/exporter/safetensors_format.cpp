// The weights alone: every parameter and buffer under its name in the module tree.
//
// The SHA-256 in the metadata is over all else that the file says: each other metadata entry, then each tensor's name,
// dtype, shape and bytes. Metadata goes by key and tensors by name, so the order in the file does not matter.
#include <ATen/core/Tensor.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "bind/config.h"
#include "exporter/formats.h"
#include "exporter/metadata.h"
#include "headwright/errors.h"
#include "model/build.h"
#include "support/hash.h"
#include "support/text.h"
#include "tensor_io/tensor_io.h"

namespace headwright::exporter {
namespace {

constexpr auto kTied = "tied";  // JSON: a name that is left out -> the name that holds the same tensor

using Metadata = std::map<std::string, std::string>;

struct Collected {
  tensor_io::Named tensors;
  Metadata tied;
};

Collected collect(const model::Model& model) {
  Collected all;
  std::map<const at::TensorImpl*, std::string> seen;
  const auto add = [&](const std::string& name, const at::Tensor& tensor) {
    const auto [first, is_new] = seen.emplace(tensor.unsafeGetTensorImpl(), name);
    if (is_new) all.tensors.emplace_back(name, tensor);
    else all.tied[name] = first->second;
  };
  for (const auto& item : model.named_parameters()) add(item.key(), item.value());
  for (const auto& item : model.named_buffers()) add(item.key(), item.value());
  return all;
}

void add_metadata(support::Sha256& digest, const Metadata& metadata) {
  for (const auto& [key, value] : metadata) {
    if (key != kDigest) digest.add(key + '\0' + std::to_string(value.size()) + '\0' + value);
  }
}

void add_title(support::Sha256& digest, const std::string& name, at::ScalarType dtype, at::IntArrayRef shape) {
  std::string title = name + '\0' + c10::toString(dtype);
  for (const auto extent : shape) title.append(" ").append(std::to_string(extent));
  digest.add(title + '\0');
}

std::string digest_of(tensor_io::Named tensors, const Metadata& metadata) {
  std::ranges::sort(tensors, {}, &tensor_io::Named::value_type::first);
  support::Sha256 digest;
  add_metadata(digest, metadata);
  for (const auto& [name, tensor] : tensors) {
    const auto plain = tensor.detach().contiguous();
    add_title(digest, name, plain.scalar_type(), plain.sizes());
    digest.add(plain.const_data_ptr(), plain.nbytes());
  }
  return digest.hex();
}

std::string digest_of(const std::filesystem::path& path, tensor_io::SafetensorsHeader header) {
  std::ranges::sort(header.entries, {}, &tensor_io::SafetensorsHeader::Entry::name);
  support::Sha256 digest;
  add_metadata(digest, header.metadata);
  std::ifstream stream(path, std::ios::binary);
  std::vector<char> chunk(1 << 20);
  for (const auto& entry : header.entries) {
    add_title(digest, entry.name, entry.dtype, entry.shape);
    stream.seekg(static_cast<std::streamoff>(header.data_start + entry.begin));
    for (auto left = entry.end - entry.begin; left > 0 && stream;) {
      stream.read(chunk.data(), static_cast<std::streamsize>(std::min<std::uint64_t>(left, chunk.size())));
      digest.add(chunk.data(), static_cast<std::size_t>(stream.gcount()));
      left -= static_cast<std::uint64_t>(stream.gcount());
    }
  }
  return digest.hex();
}

/// Names the tensors that no command could read.
std::string unread_text(const tensor_io::SafetensorsHeader& header) {
  std::vector<std::string> unread;
  for (const auto& entry : header.entries) {
    if (entry.dtype != at::ScalarType::Undefined) continue;
    unread.push_back("'" + support::printable(entry.name) + "' (" + support::printable(entry.dtype_name) + ")");
  }
  constexpr std::size_t kShown = 10;
  const auto more = unread.size() > kShown ? " and " + std::to_string(unread.size() - kShown) + " more" : "";
  unread.resize(std::min(unread.size(), kShown));
  return unread.empty() ? "" : "; its tensors of these dtypes are not read: " + support::join(unread, ", ") + more;
}

Report write_safetensors(model::Model& model, const bind::Plan& plan, const std::filesystem::path& path) {
  const auto all = collect(model);
  Report report{.file = path.string(), .format = "safetensors", .parameters = model::count_parameters(model)};
  Metadata metadata{{"format", "pt"}, {kConfig, bind::text_of(plan)}, {kMetadata, metadata_text(report)}};
  if (!all.tied.empty()) metadata[kTied] = nlohmann::json(all.tied).dump();
  report.sha256 = metadata[kDigest] = digest_of(all.tensors, metadata);
  tensor_io::write_safetensors(path, all.tensors, metadata);
  return report;
}

Inspection inspect_safetensors(const std::filesystem::path& path) {
  const auto header = tensor_io::read_safetensors_header(path);
  Inspection inspection{.file = path.string(), .format = "safetensors"};
  for (const auto* key : {kDigest, kMetadata, kConfig}) {
    if (header.metadata.contains(key)) continue;
    throw InputError(path.string() + ": found a .safetensors file that headwright did not write (no '" + key +
                     "' in its metadata), expected one written by 'runner export'" + unread_text(header));
  }
  inspection.sha256 = digest_of(path, header);
  inspection.config = header.metadata.at(kConfig);
  judge(inspection, header.metadata.at(kDigest), header.metadata.at(kMetadata));
  return inspection;
}

}  // namespace

Format safetensors_format() {
  return {.name = "safetensors",
          .endings = {".safetensors"},
          .recognises = [](std::string_view begin) { return begin.size() > 8 && begin[8] == '{'; },
          .write = write_safetensors,
          .inspect = inspect_safetensors};
}

}  // namespace headwright::exporter

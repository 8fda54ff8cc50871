// .safetensors: named tensors behind a JSON header.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "headwright/errors.h"
#include "support/files.h"
#include "support/text.h"
#include "tensor_io/checked.h"
#include "tensor_io/safetensors_header.h"
#include "tensor_io/tensor_io.h"

namespace headwright::tensor_io {
namespace {

constexpr std::uint64_t kLengthBytes = 8;
constexpr std::uint64_t kLongestHeader = 100'000'000;

SafetensorsHeader read_header(FileReader& file) {
  if (file.size() < kLengthBytes) {
    file.refuse("got " + std::to_string(file.size()) +
                " bytes, expected a .safetensors file, which begins with the 8-byte "
                "length of its header");
  }
  std::uint64_t length = 0;
  file.read(0, &length, kLengthBytes);
  if (length > kLongestHeader || length > file.size() - kLengthBytes) {
    file.refuse("got a header of " + std::to_string(length) + " bytes, expected at most " +
                std::to_string(std::min(kLongestHeader, file.size() - kLengthBytes)) +
                "; is it a .safetensors file, and whole?");
  }
  std::string json(length, '\0');
  file.read(kLengthBytes, json.data(), length);
  const auto data_start = kLengthBytes + length;
  auto header = parse_safetensors_header(json, file.size() - data_start, file.path().string());
  header.data_start = data_start;
  return header;
}

at::Tensor read_entry(FileReader& file, const SafetensorsHeader& header, const SafetensorsHeader::Entry& entry) {
  if (entry.dtype == at::ScalarType::Undefined) {
    file.refuse("tensor '" + support::printable(entry.name) + "': got dtype '" + support::printable(entry.dtype_name) +
                "', expected one of " + safetensors_dtypes());
  }
  return read_data(file, header.data_start + entry.begin, entry.shape, entry.dtype, entry.end - entry.begin);
}

/// By falling size of the elements, so that every tensor begins at a multiple of its element's size.
Named by_alignment(const Named& tensors) {
  Named sorted = tensors;
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second.element_size() > b.second.element_size(); });
  return sorted;
}

void check_writable(const std::string& file, const Named& tensors) {
  std::set<std::string> names;
  for (const auto& [name, tensor] : tensors) {
    const auto where = file + ": tensor '" + support::printable(name) + "'";
    if (name.empty() || name == "__metadata__" || support::invalid_utf8(name)) {
      throw InputError(where + ": cannot be stored under this name");
    }
    if (!names.insert(name).second) throw InputError(where + ": given twice");
    if (!tensor.defined()) throw InputError(where + ": got no tensor");
    if (safetensors_dtype(tensor.scalar_type()).empty()) {
      throw InputError(where + ": got " + c10::toString(tensor.scalar_type()) + ", expected one of " +
                       safetensors_dtypes());
    }
  }
}

std::string header_text(const Named& tensors, const std::map<std::string, std::string>& metadata) {
  auto header = nlohmann::ordered_json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  std::size_t offset = 0;
  for (const auto& [name, tensor] : tensors) {
    const auto end = offset + static_cast<std::size_t>(tensor.numel()) * tensor.element_size();
    header[name] = {{"dtype", safetensors_dtype(tensor.scalar_type())},
                    {"shape", tensor.sizes().vec()},
                    {"data_offsets", {offset, end}}};
    offset = end;
  }
  auto text = header.dump();
  text.append((8 - text.size() % 8) % 8, ' ');  // the data begins at a multiple of 8
  return text;
}

}  // namespace

SafetensorsHeader read_safetensors_header(const std::filesystem::path& path) {
  FileReader file(path);
  return read_header(file);
}

Safetensors read_safetensors(const std::filesystem::path& path) {
  FileReader file(path);
  auto header = read_header(file);
  Safetensors result;
  for (const auto& entry : header.entries) {
    if (entry.dtype == at::ScalarType::Undefined) result.unread.push_back({entry.name, entry.dtype_name});
    else result.tensors.emplace_back(entry.name, read_entry(file, header, entry));
  }
  result.metadata = std::move(header.metadata);
  return result;
}

at::Tensor read_safetensors_tensor(const std::filesystem::path& path, const std::string& name) {
  FileReader file(path);
  const auto header = read_header(file);
  std::vector<std::string> names;
  for (const auto& entry : header.entries) {
    if (entry.name == name || (name.empty() && header.entries.size() == 1)) return read_entry(file, header, entry);
    names.push_back(entry.name);
  }
  const auto holds = "it holds " + (names.empty() ? "no tensor" : support::printable(support::join(names, ", "), 400));
  if (name.empty())
    file.refuse("got " + std::to_string(names.size()) + " tensors, expected one or the name of one; " + holds);
  const auto near = support::nearest(name, names);
  file.refuse("no tensor '" + support::printable(name) + "'" + (near ? "; did you mean '" + *near + "'?" : "") + "; " +
              holds);
}

void write_safetensors(const std::filesystem::path& path, const Named& tensors,
                       const std::map<std::string, std::string>& metadata) {
  check_writable(path.string(), tensors);
  const auto sorted = by_alignment(tensors);
  const auto header = header_text(sorted, metadata);
  const std::uint64_t length = header.size();
  support::AtomicFile file(path);
  file.write(&length, kLengthBytes);
  file.write(header);
  for (const auto& [name, tensor] : sorted) {
    const auto plain = as_plain(tensor, name);  // one copy at a time
    file.write(plain.const_data_ptr(), plain.nbytes());
  }
  file.commit();
}

}  // namespace headwright::tensor_io

// Which format a file has is told by its ending.
#include "tensor_io/tensor_io.h"

#include "headwright/errors.h"
#include "tensor_io/safetensors_header.h"

namespace headwright::tensor_io {
namespace {

enum class Format { npy, safetensors };

Format format_of(const std::filesystem::path& path) {
  const auto ending = path.extension();
  if (ending == ".npy") return Format::npy;
  if (ending == ".safetensors") return Format::safetensors;
  throw InputError(path.string() + ": got " + (ending.empty() ? "no ending" : "the ending '" + ending.string() + "'") +
                   ", expected .npy or .safetensors");
}

}  // namespace

at::Tensor read_tensor(const std::filesystem::path& path, const std::string& name) {
  if (format_of(path) == Format::safetensors) return read_safetensors_tensor(path, name);
  if (!name.empty())
    throw InputError(path.string() + ": a .npy file holds one tensor without a name, got '" + name + "'");
  return read_npy(path);
}

Safetensors read_all(const std::filesystem::path& path) {
  if (format_of(path) == Format::safetensors) return read_safetensors(path);
  return {.tensors = {{"y", read_npy(path)}}, .metadata = {}, .unread = {}};
}

void write_tensors(const std::filesystem::path& path, const Named& tensors) {
  if (format_of(path) == Format::safetensors) return write_safetensors(path, tensors);
  if (tensors.size() != 1) {
    throw InputError(path.string() + ": a .npy file holds one tensor, got " + std::to_string(tensors.size()) +
                     "; write a .safetensors file instead");
  }
  write_npy(path, tensors.front().second);
}

}  // namespace headwright::tensor_io

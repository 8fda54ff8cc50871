// Tensors in files: .npy, and .safetensors with named tensors. Everything in a file is checked before memory is taken.
#pragma once
#include <ATen/core/Tensor.h>

#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace headwright::tensor_io {

using Named = std::vector<std::pair<std::string, at::Tensor>>;

/// A tensor whose dtype is not read, such as F8_E4M3.
struct Unread {
  std::string name, dtype;
};

struct Safetensors {
  Named tensors;                                // by offset
  std::map<std::string, std::string> metadata;  // __metadata__
  std::vector<Unread> unread;
};

/// C or Fortran order; bool, int8 to int64, uint8, float16, float32, float64. Throws InputError.
at::Tensor read_npy(const std::filesystem::path& path);
void write_npy(const std::filesystem::path& path, const at::Tensor& tensor);

/// Every tensor whose dtype is read; the others by name.
Safetensors read_safetensors(const std::filesystem::path& path);
void write_safetensors(const std::filesystem::path& path, const Named& tensors,
                       const std::map<std::string, std::string>& metadata = {});

/// The header alone, checked against the file's size.
struct SafetensorsHeader {
  struct Entry {
    std::string name;
    at::ScalarType dtype;  // Undefined = one that is not read
    std::vector<std::int64_t> shape;
    std::uint64_t begin, end;  // within the data
    std::string dtype_name;    // as the file says it
  };
  std::vector<Entry> entries;
  std::map<std::string, std::string> metadata;
  std::uint64_t data_start;
};
SafetensorsHeader read_safetensors_header(const std::filesystem::path& path);

/// By the file's ending. `name` picks a tensor of a .safetensors file that holds several; empty = the only one.
at::Tensor read_tensor(const std::filesystem::path& path, const std::string& name = "");

/// By the file's ending: every tensor of the file, a .npy under the name "y".
Safetensors read_all(const std::filesystem::path& path);

/// By the file's ending; a .npy takes exactly one tensor.
void write_tensors(const std::filesystem::path& path, const Named& tensors);

}  // namespace headwright::tensor_io

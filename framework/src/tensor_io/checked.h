// What both formats share: reading with every size checked before memory is taken, and tensors as plain bytes.
#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

namespace headwright::tensor_io {

/// A regular file that is read by offset. Throws InputError naming the path.
class FileReader {
 public:
  explicit FileReader(std::filesystem::path path);

  std::uint64_t size() const { return size_; }
  const std::filesystem::path& path() const { return path_; }

  /// Throws where the file has fewer bytes there.
  void read(std::uint64_t offset, void* data, std::uint64_t size);

  /// Throws InputError "PATH: message".
  [[noreturn]] void refuse(const std::string& message) const;

 private:
  std::filesystem::path path_;
  std::ifstream stream_;
  std::uint64_t size_ = 0;
};

/// Bytes of a tensor; nothing where its sizes or strides do not fit into 63 bits. A factor of 0 hides no overflow,
/// since strides are products of the other factors.
std::optional<std::uint64_t> checked_bytes(const std::vector<std::int64_t>& shape, std::uint64_t item_size);

/// A tensor filled with the `bytes` at `offset`; the caller has checked that shape and dtype make that many.
/// Throws ResourceError where memory does not suffice, InputError where a bool is neither 0 nor 1.
at::Tensor read_data(FileReader& file, std::uint64_t offset, const std::vector<std::int64_t>& shape,
                     at::ScalarType dtype, std::uint64_t bytes);

/// The same values, contiguous and on the CPU. Throws InputError where they are no dense tensor.
at::Tensor as_plain(const at::Tensor& tensor, const std::string& name);

/// "(3, 4)"
std::string shape_text(const std::vector<std::int64_t>& shape);

}  // namespace headwright::tensor_io

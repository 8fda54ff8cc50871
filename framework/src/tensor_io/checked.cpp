// Reads sizes and bytes without trusting the file.
#include "tensor_io/checked.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

#include "headwright/errors.h"
#include "support/system.h"
#include "support/text.h"

namespace headwright::tensor_io {

static_assert(std::endian::native == std::endian::little, "both formats are read and written as the bytes in memory");

FileReader::FileReader(std::filesystem::path path) : path_(std::move(path)) {
  std::error_code error;
  const auto status = std::filesystem::status(path_, error);
  if (!std::filesystem::exists(status)) refuse("no such file");
  if (std::filesystem::is_directory(status)) refuse("got a folder, expected a file");
  if (!std::filesystem::is_regular_file(status)) refuse("expected a regular file");
  size_ = std::filesystem::file_size(path_, error);
  stream_.open(path_, std::ios::binary);
  if (error || !stream_) refuse("cannot be opened; is it readable by you?");
}

void FileReader::read(std::uint64_t offset, void* data, std::uint64_t size) {
  if (offset > size_ || size > size_ - offset) {
    refuse("got " + std::to_string(size_) + " bytes, expected " + std::to_string(size) + " more at offset " +
           std::to_string(offset) + "; is the file cut off?");
  }
  stream_.seekg(static_cast<std::streamoff>(offset));
  if (!stream_.read(static_cast<char*>(data), static_cast<std::streamsize>(size))) {
    refuse("cannot be read at offset " + std::to_string(offset) + "; did the file change meanwhile?");
  }
}

void FileReader::refuse(const std::string& message) const { throw InputError(path_.string() + ": " + message); }

std::optional<std::uint64_t> checked_bytes(const std::vector<std::int64_t>& shape, std::uint64_t item_size) {
  auto bound = static_cast<std::int64_t>(item_size);
  bool empty = false;
  for (const auto extent : shape) {
    if (extent < 0 || __builtin_mul_overflow(bound, std::max<std::int64_t>(extent, 1), &bound)) return std::nullopt;
    empty |= extent == 0;
  }
  return empty ? 0 : static_cast<std::uint64_t>(bound);
}

at::Tensor read_data(FileReader& file, std::uint64_t offset, const std::vector<std::int64_t>& shape,
                     at::ScalarType dtype, std::uint64_t bytes) {
  // A sparse file may claim more than there is, so its size alone does not bound what is taken.
  const auto usable = static_cast<std::uint64_t>(support::usable_memory());
  if (bytes > usable) {
    throw ResourceError(file.path().string() + ": its data needs " + support::bytes_text(static_cast<double>(bytes)) +
                        ", but " + support::bytes_text(static_cast<double>(usable)) + " of memory are left");
  }
  auto tensor = at::empty(shape, at::dtype(dtype));
  file.read(offset, tensor.mutable_data_ptr(), bytes);
  if (dtype == at::kBool) {
    // Any other byte in a C++ bool is undefined behaviour.
    const auto* first = static_cast<const unsigned char*>(tensor.const_data_ptr());
    const auto* wrong = std::find_if(first, first + bytes, [](unsigned char byte) { return byte > 1; });
    if (wrong != first + bytes) {
      file.refuse("bool at index " + std::to_string(wrong - first) + ": got byte " + std::to_string(int{*wrong}) +
                  ", expected 0 or 1");
    }
  }
  return tensor;
}

at::Tensor as_plain(const at::Tensor& tensor, const std::string& name) {
  if (!tensor.defined()) throw InputError(name + ": got no tensor");
  if (tensor.layout() != at::kStrided) throw InputError(name + ": got a sparse tensor, expected a dense one");
  return tensor.detach().cpu().resolve_neg().contiguous();
}

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::string text = "(";
  for (const auto extent : shape) text += (text.size() > 1 ? ", " : "") + std::to_string(extent);
  return text + ")";
}

}  // namespace headwright::tensor_io

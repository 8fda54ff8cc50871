// .npy: one tensor with its dtype and shape.
#include <algorithm>
#include <array>
#include <numeric>

#include "headwright/errors.h"
#include "support/files.h"
#include "support/text.h"
#include "tensor_io/checked.h"
#include "tensor_io/npy_header.h"
#include "tensor_io/tensor_io.h"

namespace headwright::tensor_io {
namespace {

constexpr std::string_view kMagic("\x93NUMPY", 6);
constexpr std::uint64_t kLongestHeader = 1 << 20;  // a dict of three short keys

struct Preamble {
  NpyHeader header;
  std::uint64_t data_start = 0;
};

Preamble read_preamble(FileReader& file) {
  constexpr std::uint64_t kVersion1 = 10, kVersion2 = 12;  // magic, version, length in 2 or 4 bytes
  if (file.size() < kVersion1) {
    file.refuse("got " + std::to_string(file.size()) + " bytes, expected a .npy file, which begins with '\\x93NUMPY'");
  }
  std::array<unsigned char, kVersion2> bytes{};
  file.read(0, bytes.data(), std::min(file.size(), kVersion2));
  const std::string_view begin(reinterpret_cast<const char*>(bytes.data()), kMagic.size());
  if (begin != kMagic) {
    file.refuse("got '" + support::printable(begin) + "' at its beginning, expected '\\x93NUMPY' as in a .npy file");
  }
  const int major = bytes[6], minor = bytes[7];
  if (major < 1 || major > 3 || minor != 0) {
    file.refuse("got .npy version " + std::to_string(major) + "." + std::to_string(minor) +
                ", expected 1.0, 2.0 or 3.0");
  }
  const std::uint64_t start = major == 1 ? kVersion1 : kVersion2;
  std::uint64_t length = bytes[8] | bytes[9] << 8;
  if (major > 1) length |= std::uint64_t{bytes[10]} << 16 | std::uint64_t{bytes[11]} << 24;
  if (file.size() < start || length > file.size() - start || length > kLongestHeader) {
    file.refuse("got a header of " + std::to_string(length) + " bytes, expected at most " +
                std::to_string(std::min(kLongestHeader, file.size() - std::min(start, file.size()))) +
                "; is the file cut off?");
  }
  std::string text(length, '\0');
  file.read(start, text.data(), length);
  return {parse_npy_header(text, file.path().string()), start + length};
}

}  // namespace

at::Tensor read_npy(const std::filesystem::path& path) {
  FileReader file(path);
  const auto [header, start] = read_preamble(file);
  const auto bytes = checked_bytes(header.shape, c10::elementSize(header.dtype));
  if (!bytes) file.refuse("got shape " + shape_text(header.shape) + ", which is larger than any memory");
  if (*bytes != file.size() - start) {
    file.refuse("got " + std::to_string(file.size() - start) + " bytes of data, expected " + std::to_string(*bytes) +
                " for shape " + shape_text(header.shape) + " of " + npy_dtype(header.dtype));
  }
  if (!header.fortran_order) return read_data(file, start, header.shape, header.dtype, *bytes);
  // The first index runs fastest: the transpose of a row-major tensor with the extents in reverse.
  const std::vector<std::int64_t> reversed(header.shape.rbegin(), header.shape.rend());
  std::vector<std::int64_t> order(reversed.size());
  std::iota(order.rbegin(), order.rend(), 0);
  return read_data(file, start, reversed, header.dtype, *bytes).permute(order).contiguous();
}

void write_npy(const std::filesystem::path& path, const at::Tensor& tensor) {
  const auto plain = as_plain(tensor, path.string());
  const auto preamble = npy_preamble({plain.scalar_type(), false, plain.sizes().vec()}, path.string());
  support::AtomicFile file(path);
  file.write(preamble);
  file.write(plain.const_data_ptr(), plain.nbytes());
  file.commit();
}

}  // namespace headwright::tensor_io

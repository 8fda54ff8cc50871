// The header of a .npy file: a Python dict literal with three keys.
// Source: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
#pragma once
#include <c10/core/ScalarType.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace headwright::tensor_io {

struct NpyHeader {
  at::ScalarType dtype = at::kFloat;
  bool fortran_order = false;
  std::vector<std::int64_t> shape;
};

/// "float32"; empty for a dtype that the format does not have.
std::string npy_dtype(at::ScalarType dtype);

/// Parses "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }". Throws InputError, starting with `file`.
NpyHeader parse_npy_header(std::string_view text, const std::string& file);

/// Magic, version 1.0 and the header, padded so that the data begins at a multiple of 64.
/// Throws InputError for a dtype that the format does not have.
std::string npy_preamble(const NpyHeader& header, const std::string& file);

}  // namespace headwright::tensor_io

// The JSON header of a .safetensors file.
// Source: https://github.com/huggingface/safetensors#format
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "tensor_io/tensor_io.h"

namespace headwright::tensor_io {

/// Checks JSON, names, shapes and offsets, in this order, and that the tensors cover `data_size` bytes without
/// overlap or hole. Throws InputError, starting with `file`.
SafetensorsHeader parse_safetensors_header(std::string_view text, std::uint64_t data_size, const std::string& file);

/// "F32"; empty for a dtype that headwright does not store.
std::string_view safetensors_dtype(at::ScalarType dtype);

/// "BOOL, U8, ..."
std::string safetensors_dtypes();

/// One tensor of a file; an empty name = the only one. Throws InputError listing the names that there are.
at::Tensor read_safetensors_tensor(const std::filesystem::path& path, const std::string& name);

}  // namespace headwright::tensor_io

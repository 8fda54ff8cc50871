// Tensors and tables for people, and tensors for --json.
#pragma once
#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

#include "command.h"

namespace headwright::runner {

/// "(2, 6, 3) float32" and the values, aligned, with `decimals`; the middle of a large tensor is left out.
std::string tensor_text(const at::Tensor& tensor, int decimals = 4, bool full = false);

/// {shape, dtype, values}; values flat, cut to 4,096 (and said so) unless full. Not finite: "nan", "inf", "-inf".
Json tensor_json(const at::Tensor& tensor, bool full);

/// A number as JSON holds it: not finite as text.
Json number_json(double number);

/// Lines of a file that anybody may have written, without codes for the terminal.
std::string printable_lines(const std::string& text);

/// Columns aligned by two spaces; the first row is the heading.
std::string table_text(std::vector<std::vector<std::string>> rows);

}  // namespace headwright::runner

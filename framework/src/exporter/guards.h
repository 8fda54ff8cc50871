// TorchScript text that refuses wrong inputs, from inside of the exported module: whoever calls it reads no C++.
#pragma once
#include <string>

namespace headwright::exporter {

/// Lines of a model's forward after its declaration: where the optional input `name` is given, it must be bool (a mask)
/// or int64 (document_ids, positions, token_types) of exactly the batch size and length of x, or of the memory; what
/// would broadcast is refused.
std::string optional_guard(const std::string& name);

}  // namespace headwright::exporter

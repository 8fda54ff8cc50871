// TorchScript text that refuses wrong inputs, from inside of the exported module: whoever calls it reads no C++.
#pragma once
#include <string>

namespace headwright::exporter {

/// Lines of a forward after its declaration: where the optional input `name` is given, it must be bool (a mask) or
/// int64 (document_ids) of exactly the batch size and the length of `of`; a mask that broadcasts is refused.
/// where: begins the message, such as "blocks.0.attention".
std::string optional_guard(const std::string& where, const std::string& name, const std::string& of);

}  // namespace headwright::exporter

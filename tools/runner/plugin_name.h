// Names that a new variant can have.
#pragma once
#include <string>
#include <vector>

#include "registry/registry.h"

namespace headwright::runner {

/// "my_attention" -> "MyAttention"
std::string class_name(const std::string& name);

/// The types of the public headers, such as "QkvAttention".
const std::vector<std::string>& interface_types();

/// Throws InputError where a file, a class or a config could not use the name, or a variant has it already.
void expect_free_name(const registry::Registry& registry, const std::string& name);

}  // namespace headwright::runner

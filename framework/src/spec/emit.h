// Node tree -> YAML text that load() reads back to the same tree.
#pragma once
#include <string>

#include "spec/node.h"

namespace headwright::spec {

std::string emit(const Node& root);

}  // namespace headwright::spec

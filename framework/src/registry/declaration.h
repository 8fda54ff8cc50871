// What a plugin says about its variants, checked before anything is built on it.
#pragma once
#include <string>
#include <vector>

#include "headwright/variant.h"

namespace headwright::registry {

/// The first fault in what a library declares: no variant, a name that is no identifier or stands twice, a default
/// outside its own limits or choices, a missing function. Empty = none.
std::string declaration_fault(const std::vector<VariantSpec>& specs);

}  // namespace headwright::registry

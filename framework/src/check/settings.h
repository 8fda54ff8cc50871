// What a variant is checked with: its parameters and the sizes of a model, from texts such as "window_size=3".
#pragma once
#include <string>
#include <vector>

#include "headwright/variant.h"
#include "registry/registry.h"

namespace headwright::check {

struct Settings {
  Dims dims;
  ParamMap values;  // complete
};

/// Each assignment names a parameter of the variant or a size of a model and is read by the rules of a config; what is
/// left out gets its default. Throws ConfigError with every problem, the variant's own issues included.
Settings read_settings(const VariantSpec& variant, registry::Registry& registry,
                       const std::vector<std::string>& assignments);

}  // namespace headwright::check

// The conformance kit: what a variant claims, proved on the variant itself. One suite for shipped and foreign plugins.
#pragma once
#include <string>
#include <vector>

#include "headwright/variant.h"

namespace headwright::check {

struct Property {
  std::string name;
  bool passed = false;
  std::string detail;  // what was found; for a property that holds, what was asked
};

/// Asks exactly what the variant claims for these dims and values: a variant that claims less is asked less.
/// values: complete, as bind resolves them. A variant that throws fails the property it was asked for.
std::vector<Property> run_checks(const VariantSpec& variant, const Dims& dims, const ParamMap& values);

/// Names of the properties that an attention could promise, and with these dims and values does not.
std::vector<std::string> not_asked(const VariantSpec& variant, const Dims& dims, const ParamMap& values);

}  // namespace headwright::check

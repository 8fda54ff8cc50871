// The shipped variants by name, as modules and as what their checks say.
#pragma once
#include <torch/nn/module.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "helpers/configs.h"

namespace headwright::test {

inline const VariantSpec& variant(const std::string& name) {
  const auto* spec = shipped_plugins().find(name);
  if (spec == nullptr) throw std::runtime_error(name + ": no plugin of this build provides it");
  return *spec;
}

/// Builds a variant of the kind M.
template <class M>
std::shared_ptr<M> make(const std::string& name, const Dims& dims, const ParamMap& params = {}) {
  auto module = std::dynamic_pointer_cast<M>(variant(name).make(dims, params));
  if (module == nullptr) throw std::runtime_error(name + ": of another kind");
  return module;
}

/// What the variant's own check says: "name: message" for each issue.
inline std::vector<std::string> issues(const std::string& name, const Dims& dims, const ParamMap& params = {}) {
  Issues found;
  variant(name).check(dims, params, found);
  std::vector<std::string> texts;
  for (const auto& item : found.items()) texts.push_back(item.name + ": " + item.message);
  return texts;
}

}  // namespace headwright::test

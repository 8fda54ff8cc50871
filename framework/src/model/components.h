// Components as modules: the one place that calls a variant's factory.
#pragma once
#include <memory>
#include <string>

#include "headwright/errors.h"
#include "headwright/params.h"
#include "headwright/variant.h"

namespace headwright::model {

/// The component as a module of its kind; null for an absent one.
template <class Base>
std::shared_ptr<Base> make(const Component& component, const Dims& dims) {
  if (!component) return nullptr;
  auto module = std::dynamic_pointer_cast<Base>(component.variant->make(dims, component.values));
  if (module != nullptr) return module;
  throw PluginError("'" + component.variant->name + "' made a module of another kind than it declares");
}

}  // namespace headwright::model

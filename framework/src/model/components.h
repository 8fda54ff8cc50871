// Components as modules: the one place that calls a variant's factory.
#pragma once
#include <c10/util/Exception.h>

#include <memory>
#include <string>

#include "headwright/errors.h"
#include "headwright/params.h"
#include "headwright/variant.h"

namespace headwright::model {

/// The component as a module of its kind; null for an absent one. Whatever a factory throws names its variant.
template <class Base>
std::shared_ptr<Base> make(const Component& component, const Dims& dims) {
  if (!component) return nullptr;
  const auto& name = component.variant->name;
  try {
    auto module = std::dynamic_pointer_cast<Base>(component.variant->make(dims, component.values));
    if (module != nullptr) return module;
  } catch (const Error&) {
    throw;
  } catch (const c10::Error&) {
    throw;  // torch's own: too large, out of memory
  } catch (const std::exception& error) {
    throw PluginError("'" + name + "' failed while it was made: " + error.what());
  }
  throw PluginError("'" + name + "' made a module of another kind than it declares");
}

}  // namespace headwright::model

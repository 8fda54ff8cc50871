// Calls of a model's components. The one place where an error of a plugin gets its layer and its name.
#pragma once
#include <string>
#include <string_view>
#include <utility>

#include "registry/guarded.h"

namespace headwright::model {

/// What `call` returns. Whatever it throws, even something that is no std::exception, becomes a PluginError:
/// "blocks.0.attention: 'softmax' failed in forward: MESSAGE". What a user gave is checked before; an InputError out of
/// here is the plugin's own. where() -> (path of the component, name of its variant), asked for only after a failure.
template <class Where, class Call>
decltype(auto) call_component(Where&& where, Call&& call) {
  try {
    return std::forward<Call>(call)();
  } catch (...) {
    const auto& [path, variant] = where();
    registry::blame_plugin(std::string(path) + ": '" + std::string(variant) + "' failed in forward");
  }
}

/// The same where both texts are at hand.
template <class Call>
decltype(auto) call_component(std::string_view path, std::string_view variant, Call&& call) {
  return call_component([&] { return std::pair(path, variant); }, std::forward<Call>(call));
}

}  // namespace headwright::model

// Calls of a model's components. The one place where an error of a plugin gets its layer and its name.
#pragma once
#include <string>
#include <string_view>
#include <utility>

#include "registry/guarded.h"

namespace headwright::model {

/// What `call` returns. Whatever it throws, even something that is no std::exception, becomes a PluginError:
/// "blocks.0.attention: 'softmax' failed in forward: MESSAGE". path: of the component in the model.
/// What a user gave is checked before; an InputError out of here is the plugin's own.
template <class Call>
decltype(auto) call_component(std::string_view path, std::string_view variant, Call&& call) {
  try {
    return std::forward<Call>(call)();
  } catch (...) {  // the text is put together only now: a call costs nothing
    registry::blame_plugin(std::string(path) + ": '" + std::string(variant) + "' failed in forward");
  }
}

}  // namespace headwright::model

// Calls into plugins. Whatever a plugin throws becomes an error that says whose it is.
#pragma once
#include <string>
#include <string_view>
#include <utility>

namespace headwright::registry {

/// To be called in a handler: throws what it handles again, as a PluginError that begins with `where`. Running out of
/// memory is not the plugin's fault, and stays a ResourceError; what was blamed on a component inside stays so.
[[noreturn]] void blame_plugin(const std::string& where);

/// What `call` returns. where: "FILE: 'softmax' failed in make".
template <class Call>
decltype(auto) guarded(const std::string& where, Call&& call) {
  try {
    return std::forward<Call>(call)();
  } catch (...) {
    blame_plugin(where);
  }
}

}  // namespace headwright::registry

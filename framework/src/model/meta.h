// Modules without memory: every tensor that is made while a MetaMode lives is made on the meta device.
#pragma once
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <c10/util/Exception.h>

#include <string>

#include "headwright/errors.h"

namespace headwright::model {

/// For this thread and this scope. torch::nn modules take no device in C++, so the device argument of every operator
/// is rewritten on its way to the dispatcher.
class MetaMode {
 public:
  MetaMode();

 private:
  c10::impl::IncludeDispatchKeyGuard guard_;
};

/// Throws ResourceError saying that no tensor can have such sizes; another kind of error goes on as it is.
[[noreturn]] void refuse_sizes(const c10::Error& error);
[[noreturn]] void refuse_sizes(const ResourceError& error);

/// Builds without memory. Sizes that no tensor can have are the config's fault, not the library's.
template <class Make>
auto without_memory(Make&& make) {
  const MetaMode mode;
  try {
    return make();
  } catch (const c10::Error& error) {
    refuse_sizes(error);
  } catch (const ResourceError& error) {  // the same, within a plugin
    refuse_sizes(error);
  }
}

}  // namespace headwright::model

// Modules without memory: every tensor that is made while a MetaMode lives is made on the meta device.
#pragma once
#include <c10/core/impl/LocalDispatchKeySet.h>

namespace headwright::model {

/// For this thread and this scope. torch::nn modules take no device in C++, so the device argument of every operator
/// is rewritten on its way to the dispatcher.
class MetaMode {
 public:
  MetaMode();

 private:
  c10::impl::IncludeDispatchKeyGuard guard_;
};

}  // namespace headwright::model

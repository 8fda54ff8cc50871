#include "model/meta.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/library.h>

namespace headwright::model {
namespace {

// The one mode key that torch keeps for code outside it that wants to see every operator; nothing else here uses it.
constexpr auto kKey = c10::DispatchKey::TESTING_ONLY_GenericMode;

void on_meta(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  const auto& arguments = op.schema().arguments();
  const auto first = stack->size() - arguments.size();
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].name() == "device") (*stack)[first + i] = c10::Device(c10::kMeta);
  }
  const c10::impl::ExcludeDispatchKeyGuard below(kKey);
  op.callBoxed(stack);
}

}  // namespace

MetaMode::MetaMode() : guard_(kKey) {}

}  // namespace headwright::model

TORCH_LIBRARY_IMPL(_, TESTING_ONLY_GenericMode, library) {
  library.fallback(torch::CppFunction::makeFromBoxedFunction<&headwright::model::on_meta>());
}

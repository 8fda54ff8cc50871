// Rewrites the device of every operator to meta while a MetaMode lives.
#include "model/meta.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/library.h>

#include "support/system.h"

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

void refuse_sizes(const ResourceError& error) {
  throw ResourceError("the model's sizes are too large for any tensor: " + std::string(error.what()));
}

void refuse_sizes(const c10::Error& error) {
  const std::string text = error.what_without_backtrace();
  if (!support::means_out_of_memory(text)) throw;
  refuse_sizes(ResourceError(text));
}

}  // namespace headwright::model

TORCH_LIBRARY_IMPL(_, TESTING_ONLY_GenericMode, library) {
  library.fallback(torch::CppFunction::makeFromBoxedFunction<&headwright::model::on_meta>());
}

// Counts operators through a dispatch hook: their operations, and the bytes that they move.
#include "bench/flops.h"

#include <ATen/ATen.h>
#include <ATen/core/function_schema.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

namespace headwright::bench {
namespace {

// torch calls a plain function, so it has to find the counter here.
std::atomic<FlopCounter*> current_counter = nullptr;

/// Operators that multiply their arguments `left` and `left + 1`.
struct Product {
  std::string_view name;
  std::size_t left;
};
constexpr std::array<Product, 12> kProducts{{{"aten::mm", 0},
                                             {"aten::bmm", 0},
                                             {"aten::mv", 0},
                                             {"aten::dot", 0},
                                             {"aten::vdot", 0},
                                             {"aten::addmm", 1},
                                             {"aten::addmm_", 1},
                                             {"aten::_addmm_activation", 1},
                                             {"aten::addmv", 1},
                                             {"aten::addbmm", 1},
                                             {"aten::baddbmm", 1},
                                             {"aten::baddbmm_", 1}}};

constexpr std::array<std::string_view, 8> kUncounted{
    "aten::convolution", "aten::convolution_backward", "aten::_fft_c2c",   "aten::_fft_r2c",
    "aten::_fft_c2r",    "aten::mkldnn_rnn_layer",     "aten::_trilinear", "aten::linalg_solve_triangular"};

constexpr std::string_view kFused = "aten::_scaled_dot_product_";

std::int64_t of_product(const at::Tensor& left, const at::Tensor& right) {
  return 2 * left.numel() * (right.dim() < 2 ? 1 : right.size(-1));
}

/// Pairs of a query and a key, of one head. torch's causal form is aligned to the first key.
std::int64_t pairs(std::int64_t q_len, std::int64_t k_len, bool causal) {
  if (!causal) return q_len * k_len;
  const auto within = std::min(q_len, k_len);
  return within * (within + 1) / 2 + (q_len - within) * k_len;
}

/// An argument by the name that the operator gives it.
std::optional<at::IValue> argument(const at::RecordFunction& call, const c10::FunctionSchema& schema,
                                   std::string_view name) {
  const auto inputs = call.inputs();
  for (std::size_t i = 0; i < std::min(schema.arguments().size(), inputs.size()); ++i) {
    if (schema.arguments()[i].name() == name) return inputs[i];
  }
  return {};
}

std::optional<std::int64_t> of_fused(const at::RecordFunction& call) {
  const auto schema = call.operator_schema();
  if (!schema) return {};
  const auto q = argument(call, *schema, "query"), k = argument(call, *schema, "key"),
             v = argument(call, *schema, "value"), causal = argument(call, *schema, "is_causal");
  if (!q || !k || !v || !q->isTensor() || !k->isTensor() || !v->isTensor() || q->toTensor().dim() != 4) return {};
  const auto &query = q->toTensor(), &key = k->toTensor();
  const auto d_head = query.size(3), d_value = v->toTensor().size(3);
  const bool is_causal = causal && causal->isBool() && causal->toBool();
  const bool backward = std::string_view(call.name()).ends_with("_backward");
  // Backward: the scores again, then the gradients of q and k along d_head, of the weights and of v along d_value
  const auto per_pair = backward ? 3 * d_head + 2 * d_value : d_head + d_value;
  return 2 * query.size(0) * query.size(1) * pairs(query.size(2), key.size(2), is_causal) * per_pair;
}

std::int64_t bytes_of(const at::Tensor& x) {
  if (!x.defined() || !x.has_storage()) return 0;
  const auto spread_out = x.numel() * static_cast<std::int64_t>(x.element_size());
  return std::min(spread_out, static_cast<std::int64_t>(x.storage().nbytes()));  // an expanded one is read often
}

template <class Values>
std::int64_t bytes_of_all(const Values& values) {
  std::int64_t bytes = 0;
  for (const c10::IValue& value : values) {
    if (value.isTensor()) bytes += bytes_of(value.toTensor());
    if (!value.isTensorList()) continue;
    for (const at::Tensor& x : value.toTensorVector()) bytes += bytes_of(x);
  }
  return bytes;
}

/// It touches no element: a view of what it was given, or memory as it is.
bool moves_nothing(const at::RecordFunction& call) {
  const std::string_view name = call.name();
  if (name.starts_with("aten::empty") || name.starts_with("aten::new_empty") || name.starts_with("aten::resize"))
    return true;
  const auto schema = call.operator_schema();
  return schema && std::ranges::any_of(schema->returns(), [](const c10::Argument& argument) {
           return argument.alias_info() != nullptr && !argument.alias_info()->isWrite();
         });
}

}  // namespace

/// An operator on its way, in a chain with those that called it.
struct FlopCounter::Running final : at::ObserverContext {
  static Running*& innermost() {
    thread_local Running* running = nullptr;
    return running;
  }

  Running() : caller(innermost()) {
    if (caller != nullptr) caller->calls_others = true;
    innermost() = this;
  }
  Running* const caller;
  bool calls_others = false;
  std::int64_t flops = 0, bytes_read = 0;
};

FlopCounter::FlopCounter() {
  current_counter = this;
  const auto start = [](const at::RecordFunction& call) -> std::unique_ptr<at::ObserverContext> {
    auto* counter = current_counter.load();
    if (counter == nullptr) return nullptr;
    auto running = std::make_unique<Running>();
    running->flops = counter->flops_of(call);
    running->bytes_read = bytes_of_all(call.inputs());  // they are gone when it ends
    counter->flops_ += running->flops;
    return running;
  };
  const auto end = [](const at::RecordFunction& call, at::ObserverContext* context) {
    const auto* running = static_cast<Running*>(context);
    if (running == nullptr) return;
    Running::innermost() = running->caller;
    if (auto* counter = current_counter.load()) counter->finished(call, *running);
  };
  handle_ = at::addGlobalCallback(
      at::RecordFunctionCallback(start, end).needsInputs(true).needsOutputs(true).scopes({at::RecordScope::FUNCTION}));
}

FlopCounter::~FlopCounter() {
  at::removeCallback(handle_);
  current_counter = nullptr;
}

void FlopCounter::finished(const at::RecordFunction& call, const Running& running) {
  if (running.calls_others && running.flops == 0) return;
  const auto bytes = moves_nothing(call) ? 0 : running.bytes_read + bytes_of_all(call.outputs());
  const std::lock_guard lock(mutex_);
  operations_.push_back({running.flops, bytes});
}

std::int64_t FlopCounter::flops_of(const at::RecordFunction& call) {
  const std::string_view name = call.name();
  const auto inputs = call.inputs();
  if (const auto* product = std::ranges::find(kProducts, name, &Product::name); product != kProducts.end()) {
    return of_product(inputs[product->left].toTensor(), inputs[product->left + 1].toTensor());
  }
  if (name.starts_with("mkldnn::_linear")) {  // (batch, ..., d_in), (d_out, d_in)
    return 2 * inputs[0].toTensor().numel() * inputs[1].toTensor().size(0);
  }
  bool skipped = std::ranges::find(kUncounted, name) != kUncounted.end();
  std::optional<std::int64_t> flops;
  // The plain form is made of products that are seen one by one
  if (name.starts_with(kFused) && !name.starts_with("aten::_scaled_dot_product_attention_math")) {
    flops = of_fused(call);
    skipped = !flops;
  }
  if (skipped) {
    const std::lock_guard lock(mutex_);
    uncounted_.emplace(name);
  }
  return flops.value_or(0);
}

std::vector<Operation> FlopCounter::operations() const {
  const std::lock_guard lock(mutex_);
  return operations_;
}

std::vector<std::string> FlopCounter::uncounted() const {
  const std::lock_guard lock(mutex_);
  return {uncounted_.begin(), uncounted_.end()};
}

}  // namespace headwright::bench

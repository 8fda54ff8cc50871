// Walks a graph for constants that name a device or a size.
#include "exporter/constants.h"

#include <ATen/core/function_schema.h>
#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/ir/ir.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "headwright/shapes.h"

namespace headwright::exporter {
namespace {

namespace jit = torch::jit;

/// A number that torch wrapped as a 0-d CPU tensor. These operators take it together with tensors of any device.
bool may_be_a_number(const at::Tensor& tensor, const jit::Value& value) {
  if (tensor.dim() != 0 || !tensor.device().is_cpu()) return false;
  static constexpr auto kTakesNumbers = std::to_array<std::string_view>({"aten::add",          "aten::sub",
                                                                         "aten::rsub",         "aten::mul",
                                                                         "aten::div",          "aten::floor_divide",
                                                                         "aten::remainder",    "aten::pow",
                                                                         "aten::eq",           "aten::ne",
                                                                         "aten::lt",           "aten::le",
                                                                         "aten::gt",           "aten::ge",
                                                                         "aten::add_",         "aten::sub_",
                                                                         "aten::mul_",         "aten::div_",
                                                                         "aten::maximum",      "aten::minimum",
                                                                         "aten::where",        "aten::masked_fill",
                                                                         "aten::masked_fill_", "aten::Int",
                                                                         "aten::Float",        "aten::ScalarImplicit"});
  return std::ranges::all_of(value.uses(), [&](const jit::Use& use) {
    return std::ranges::find(kTakesNumbers, use.user->kind().toQualString()) != kTakesNumbers.end();
  });
}

std::optional<std::string> tie_of_constant(const jit::Node& node) {
  const auto constant = jit::toIValue(node.output());
  if (!constant) return std::nullopt;
  std::optional<std::string> found;
  constant->visit([&](const c10::IValue& part) {
    if (part.isDevice()) found = "the device '" + part.toDevice().str() + "' is written into it";
    if (part.isTensor() && part.toTensor().defined() && !may_be_a_number(part.toTensor(), *node.output())) {
      found = "a tensor " + shape_text(part.toTensor()) + " is neither a parameter nor a buffer; register it";
    }
    return found.has_value();  // true = do not look further
  });
  return found;
}

/// An operator that makes a tensor from nothing but numbers: without a device it takes the default one.
std::optional<std::string> tie_of_factory(const jit::Node& node) {
  const auto* schema = node.maybeSchema();
  if (schema == nullptr) return std::nullopt;
  const auto device = schema->argumentIndexWithName("device");
  if (!device || node.input(*device)->node()->kind() != c10::prim::Constant) return std::nullopt;
  const auto takes_tensor = std::any_of(node.inputs().begin(), node.inputs().end(), [](const jit::Value* input) {
    return input->type()->isSubtypeOf(*c10::TensorType::get()) ||
           input->type()->isSubtypeOf(*c10::ListType::ofTensors());
  });
  if (takes_tensor) return std::nullopt;
  return std::string(node.kind().toQualString()) +
         " makes a tensor on the default device; derive it from an input (as positions_along does) or store a buffer";
}

std::optional<std::string> tie_of_block(const jit::Block& block) {
  for (const auto* node : block.nodes()) {
    auto found = node->kind() == c10::prim::Constant ? tie_of_constant(*node) : tie_of_factory(*node);
    for (const auto* inner : node->blocks()) {
      if (!found) found = tie_of_block(*inner);
    }
    if (found) return found;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> device_tie(const jit::Graph& graph) { return tie_of_block(*graph.block()); }

}  // namespace headwright::exporter

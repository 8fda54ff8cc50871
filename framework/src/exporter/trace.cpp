// Traces a forward at two sizes, and keeps what both have in common.
#include "exporter/trace.h"

#include <ATen/ATen.h>
#include <torch/csrc/jit/frontend/tracer.h>
#include <torch/csrc/jit/ir/constants.h>

#include <algorithm>
#include <map>
#include <optional>
#include <sstream>

#include "exporter/dtypes.h"
#include "support/text.h"

namespace headwright::exporter {
namespace {

namespace jit = torch::jit;

/// Every node, those inside of others too, in their order.
template <class Visit>
void each_node(const jit::Block& block, const Visit& visit) {
  for (const auto* node : block.nodes()) {
    visit(*node);
    for (const auto* inner : node->blocks()) each_node(*inner, visit);
  }
}

std::string constant_text(const jit::Value& value) {
  const auto constant = jit::toIValue(&value);
  std::ostringstream text;
  if (!constant) {
    text << "none";
  } else if (constant->isTensor() && constant->toTensor().defined()) {
    const auto tensor = constant->toTensor();
    text << tensor.scalar_type() << tensor.sizes();
    if (tensor.numel() == 1) text << tensor.item();
    else text << tensor.getIntrusivePtr().get();  // only the very same tensor is alike
  } else {
    text << *constant;
  }
  return text.str();
}

/// Two graphs are alike where this is equal: the operators, what flows where, and every constant.
std::string fingerprint(const jit::Graph& graph) {
  std::map<const jit::Value*, std::size_t> numbers;
  const auto number = [&](const jit::Value* value) { return numbers.emplace(value, numbers.size()).first->second; };
  std::ostringstream text;
  for (const auto* input : graph.inputs()) text << number(input) << ' ';
  each_node(*graph.block(), [&](const jit::Node& node) {
    text << node.kind().toQualString();
    if (node.kind() == c10::prim::GetAttr) text << ' ' << node.s(c10::attr::name);
    if (node.kind() == c10::prim::Constant) text << ' ' << constant_text(*node.output());
    for (const auto* input : node.inputs()) text << " <" << number(input);
    for (const auto* output : node.outputs()) text << " >" << number(output);
    text << '\n';
  });
  for (const auto* output : graph.outputs()) text << number(output) << ' ';
  return text.str();
}

/// The first token of each sequence left out; nothing where that would leave none.
std::optional<Inputs> shorter(const Inputs& inputs) {
  auto less = inputs;
  for (auto* tensor : {&less.x, &less.memory, &less.key_mask, &less.memory_mask, &less.document_ids}) {
    if (!tensor->defined()) continue;
    if (tensor->size(1) < 2) return std::nullopt;
    *tensor = tensor->slice(1, 1).contiguous();
  }
  return less;
}

std::map<std::string, int> count_operators(const jit::Graph& graph) {
  std::map<std::string, int> counts;
  each_node(*graph.block(), [&](const jit::Node& node) {
    if (node.kind().is_aten()) ++counts[node.kind().toQualString()];
  });
  return counts;
}

/// The number that the operator at each place is given, where it is a constant.
std::vector<std::pair<const jit::Node*, std::string>> numbers_in(const jit::Graph& graph) {
  std::vector<std::pair<const jit::Node*, std::string>> numbers;
  each_node(*graph.block(), [&](const jit::Node& node) {
    if (node.kind() != c10::prim::Constant) return;
    const auto constant = jit::toIValue(node.output());
    if (constant && (constant->isInt() || constant->isIntList()))
      numbers.emplace_back(&node, constant_text(*node.output()));
  });
  return numbers;
}

}  // namespace

Graph trace_graph(Part& part, const Signature& signature, const Inputs& example) {
  jit::Stack stack;
  for (const auto& value : signature.values(example)) stack.emplace_back(value);
  const auto run = [&](const jit::Stack& inputs) -> jit::Stack {
    const jit::tracer::NoWarn quiet;  // what a trace leaves out is found by running it at other shapes
    std::vector<at::Tensor> values;
    for (const auto& input : inputs) values.push_back(input.toTensor());
    return {part.eager(signature.inputs(values))};
  };
  const auto no_name = [](const at::Tensor&) { return std::string(); };
  return jit::tracer::trace(stack, run, no_name, /*strict=*/true, /*force_outplace=*/false, &part.scripted,
                            signature.names())
      .first->graph;
}

std::vector<Version> trace_in_each_dtype(Part& part, const Signature& signature, const Inputs& example) {
  const auto own = dtype_of(*part.module, example);
  std::vector<Version> versions{{{own}, trace_graph(part, signature, example)}};
  std::vector<std::string> known{fingerprint(*versions.front().graph)};
  for (const auto dtype : kDtypes) {
    if (dtype == own) continue;
    const InDtype turned(*part.module, dtype);
    Graph graph;
    try {
      graph = trace_graph(part, signature, cast(example, dtype));
    } catch (const std::exception&) {
      continue;
    }
    const auto print = fingerprint(*graph);
    const auto same = std::ranges::find(known, print);
    if (same != known.end()) {
      versions[static_cast<std::size_t>(same - known.begin())].dtypes.push_back(dtype);
    } else {
      versions.push_back({{dtype}, graph});
      known.push_back(print);
    }
  }
  return versions;
}

std::string loop_over_time(Part& part, const Signature& signature, const Inputs& example) {
  const auto less = shorter(example);
  if (!less) return "";
  const auto longer_counts = count_operators(*trace_graph(part, signature, example));
  auto shorter_counts = count_operators(*trace_graph(part, signature, *less));
  std::vector<std::string> repeated;
  for (const auto& [name, count] : longer_counts) {
    if (count > shorter_counts[name]) repeated.push_back(name);
  }
  return support::join(repeated, ", ");
}

std::string baked_sizes(Part& part, const Signature& signature, const Inputs& example) {
  const auto less = shorter(example);
  if (!less) return "";
  const auto first = trace_graph(part, signature, example), second = trace_graph(part, signature, *less);
  const auto numbers = numbers_in(*first), others = numbers_in(*second);
  if (numbers.size() != others.size()) return "";
  std::vector<std::string> found;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (numbers[i].second == others[i].second) continue;
    for (const auto& use : numbers[i].first->output()->uses()) {
      const bool in_list = use.user->kind() == c10::prim::ListConstruct && use.user->output()->hasUses();
      const auto& taker = in_list ? *use.user->output()->uses().front().user : *use.user;
      auto text = taker.kind().toQualString() + std::string(" takes ") + numbers[i].second;
      if (std::ranges::find(found, text) == found.end()) found.push_back(std::move(text));
    }
  }
  return support::join(found, ", ");
}

}  // namespace headwright::exporter

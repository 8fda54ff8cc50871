// Asks each variant what it computes with where an optional parameter is absent, and writes that down.
#include "bind/effective.h"

#include "bind/reader.h"
#include "bind/values.h"
#include "spec/emit.h"
#include "spec/scalars.h"

namespace headwright::bind {
namespace {

using spec::Node;

bool is_computed(const Node& node) {
  return node.mark.file == computed_mark().file || node.mark.file == computed_by_layer_mark().file;
}

/// Layers of one block can have different sizes: a value that is not the same in all of them stays null.
void write_value(Node& node, const Value& value) {
  auto computed = to_node(value, computed_mark());
  if (spec::is_null(node) && !is_computed(node)) {
    node = std::move(computed);
  } else if (is_computed(node) && spec::emit_flow(node) != spec::emit_flow(computed)) {
    node = null_node(computed_by_layer_mark());
  }
}

/// node: the component's map in the resolved config; null = there is none.
void write_component(const Component& component, const Dims& dims, Node* node) {
  if (!component || node == nullptr || node->type != Node::Type::map) return;
  for (const auto& [name, value] : component.values) {
    if (const auto* inner = std::get_if<Component>(&value.data)) write_component(*inner, dims, node->find(name));
  }
  if (!component.variant->effective) return;
  for (const auto& [name, value] : component.variant->effective(dims, component.values)) {
    const auto* given = find(component.values, name);
    Node* row = node->find(name);
    if (row == nullptr || given == nullptr || !std::holds_alternative<std::monostate>(given->data)) continue;
    write_value(*row, value);
  }
}

Node* below(Node* node, const std::string& key) {
  return node == nullptr || node->type != Node::Type::map ? nullptr : node->find(key);
}

/// The map of the block that a sublayer stands in: the block itself, or its entry of `sublayers`.
Node* entry_of(Node* block, std::size_t index) {
  Node* list = below(block, "sublayers");
  if (list == nullptr) return block;
  return index < list->items.size() ? &list->items[index] : nullptr;
}

/// The key of a sublayer's component: "model.blocks.dense.attention" -> "attention".
std::string key_of(const SublayerPlan& sublayer) {
  return sublayer.written_at.substr(sublayer.written_at.rfind('.') + 1);
}

void write_stack(const StackPlan& stack, Node& section) {
  write_component(stack.embedding.component, stack.embedding.dims, section.find("embedding"));
  for (const auto& plan : stack.blocks) {
    Node* block = below(section.find("blocks"), plan.name);
    for (std::size_t i = 0; i < plan.sublayers.size(); ++i) {
      const auto& sublayer = plan.sublayers[i];
      Node* entry = entry_of(block, i);
      write_component(sublayer.component, sublayer.dims, below(entry, key_of(sublayer)));
      write_component(sublayer.norm, sublayer.dims, below(entry, "norm"));
      write_component(sublayer.output_norm, sublayer.dims_after(), below(entry, "output_norm"));
      const bool own = entry != block;  // in a short order the one norm stands under "norm"
      write_component(sublayer.residual_norm, sublayer.dims_after(), below(entry, own ? "residual_norm" : "norm"));
    }
  }
  write_component(stack.final_norm.component, stack.final_norm.dims, section.find("final_norm"));
}

}  // namespace

spec::Mark computed_mark() { return {.file = "computed"}; }
spec::Mark computed_by_layer_mark() { return {.file = "computed, for each layer by itself"}; }

void write_effective(const ModelPlan& model, Node& resolved) {
  write_stack(model, resolved);
  write_component(model.head.component, model.head.dims, resolved.find("head"));
  Node* encoder = resolved.find("encoder");
  if (model.encoder && encoder != nullptr) write_stack(*model.encoder, *encoder);
}

}  // namespace headwright::bind

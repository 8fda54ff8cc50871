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

void write_stack(const StackPlan& stack, Node& section) {
  if (stack.embedding) {
    write_component(stack.embedding->position, stack.dims, below(section.find("embedding"), "position"));
  }
  for (const auto& plan : stack.blocks) {
    Node* block = below(section.find("blocks"), plan.name);
    write_component(plan.attention, plan.dims, below(block, "attention"));
    write_component(plan.cross_attention, plan.cross_dims, below(block, "cross_attention"));
    write_component(plan.feed_forward, plan.feed_forward_dims(), below(block, "feed_forward"));
    write_component(plan.norm, plan.feed_forward_dims(), below(block, "norm"));
  }
  write_component(stack.final_norm, stack.last_dims(), section.find("final_norm"));
}

}  // namespace

spec::Mark computed_mark() { return {.file = "computed"}; }
spec::Mark computed_by_layer_mark() { return {.file = "computed, for each layer by itself"}; }

void write_effective(const ModelPlan& model, Node& resolved) {
  write_stack(model, resolved);
  Node* encoder = resolved.find("encoder");
  if (model.encoder && encoder != nullptr) write_stack(*model.encoder, *encoder);
}

}  // namespace headwright::bind

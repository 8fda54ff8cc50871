#include "bind/layers.h"

#include <algorithm>
#include <map>
#include <set>

#include "bind/rows.h"
#include "bind/tables.h"
#include "bind/values.h"
#include "headwright/attend.h"
#include "spec/scalars.h"
#include "support/text.h"

namespace headwright::bind {
namespace {

using spec::Node;

/// A block as it is written, before it has a place in the stack.
struct Block {
  BlockKeys keys;
  const Node* node = nullptr;
  std::string path;
  bool sound = false;  // read without a fault, so its variants can be asked about their values
  bool used = false;
};

using Blocks = std::map<std::string, Block>;

Order order_from(const std::string& name) {
  if (name == "post_norm") return Order::post_norm;
  if (name == "parallel") return Order::parallel;
  return name == "plain" ? Order::plain : Order::pre_norm;
}

const spec::Mark& mark_of(const Node& map, const std::string& key) {
  const Node* node = map.find(key);
  return node == nullptr ? map.mark : node->mark;
}

void check_block(Reader& reader, const Block& block) {
  const auto& keys = block.keys;
  if (!keys.attention && !keys.feed_forward) {
    reader.report(block.node->mark, block.path, "does nothing: give it an attention, a feed_forward, or both");
  }
  if (keys.order != "plain" && !keys.norm) {
    reader.report(mark_of(*block.node, "order"), below(block.path, "norm"),
                  "missing: order " + keys.order + " needs one, such as norm: layer_norm; order: plain needs none");
  }
  if (keys.order == "plain" && keys.norm) {
    reader.report(mark_of(*block.node, "norm"), below(block.path, "norm"),
                  "has no place in order plain, which has no norms; leave it out, or choose another order");
  }
  if (keys.order == "parallel" && !(keys.attention && keys.feed_forward)) {
    reader.report(mark_of(*block.node, "order"), below(block.path, "order"),
                  "got parallel, which needs both an attention and a feed_forward");
  }
  if (keys.order == "plain" && keys.dropout > 0) {
    reader.report(mark_of(*block.node, "dropout"), below(block.path, "dropout"),
                  "has no place in order plain, which has no residual");
  }
}

Blocks read_blocks(Reader& reader, const Node& model, Node& resolved) {
  Blocks blocks;
  const Node* node = model.find("blocks");
  if (node == nullptr) {
    reader.report(model.mark, "model.blocks", "missing, expected a map of named blocks");
    return blocks;
  }
  if (!expect_map(reader, *node, "model.blocks", "a map of named blocks")) return blocks;
  if (node->entries.empty()) reader.report(node->mark, "model.blocks", "is empty, expected at least one named block");
  Node section = map_node(node->mark);
  for (const auto& [name, mark, value] : node->entries) {
    const auto path = below("model.blocks", name);
    if (!expect_map(reader, value, path, "a map with an attention, a feed_forward, or both")) continue;
    Node part = map_node(value.mark);
    const auto problems = reader.problems.size();
    auto& block = blocks[name] = {read_section<BlockKeys>(reader, block_table(), value, path, part), &value, path};
    block.sound = reader.problems.size() == problems;
    if (block.sound) check_block(reader, block);
    set(section, name, std::move(part));
  }
  set(resolved, "blocks", std::move(section));
  return blocks;
}

/// The names of one entry of `layers`, in order, repeats included.
std::vector<std::string> expand(Reader& reader, const Node& item, const std::string& path, Blocks& blocks,
                                Node& resolved) {
  LayerKeys keys;
  std::vector<std::pair<std::string, const Node*>> names;
  resolved = item;
  if (item.type == Node::Type::scalar && !spec::is_null(item)) {
    names.emplace_back(item.text, &item);
  } else if (expect_map(reader, item, path, "the name of a block, {use, repeat} or {pattern, repeat}")) {
    resolved = map_node(item.mark);
    keys = read_section<LayerKeys>(reader, layer_table(), item, path, resolved);
    drop_absent(resolved);
    const Node* pattern = item.find("pattern");
    if (keys.use) names.emplace_back(*keys.use, item.find("use"));
    for (std::size_t i = 0; keys.pattern && i < keys.pattern->size(); ++i) {
      names.emplace_back((*keys.pattern)[i], &pattern->items[i]);
    }
    if ((item.find("use") != nullptr) == (pattern != nullptr)) {
      reader.report(item.mark, path, "expected one of 'use' and 'pattern'");
    }
  }
  bool sound = true;
  std::vector<std::string> known, layers;
  for (const auto& [name, block] : blocks) known.push_back(name);
  for (const auto& [name, node] : names) {
    if (const auto found = blocks.find(name); found != blocks.end()) {
      found->second.used = true;
      continue;
    }
    sound = false;
    reader.report(node->mark, path,
                  "no block is called '" + support::printable(name) + "' (known: " + support::join(known, ", ") + ")",
                  support::nearest(name, known).value_or(""));
  }
  if (static_cast<std::int64_t>(names.size()) * keys.repeat > kMostLayers) {
    reader.report(item.mark, path, "more than " + std::to_string(kMostLayers) + " layers");
    return {};
  }
  for (std::int64_t i = 0; sound && i < keys.repeat; ++i) {
    for (const auto& [name, node] : names) layers.push_back(name);
  }
  return layers;
}

std::vector<std::string> read_stack(Reader& reader, const Node& model, Blocks& blocks, Node& resolved) {
  const Node* node = model.find("layers");
  if (node == nullptr) {
    if (blocks.size() > 1) {
      reader.report(
          model.mark, "model.layers",
          "missing: there is more than one block, so say which stand where, such as [" + blocks.begin()->first + "]");
    }
    if (blocks.size() != 1) return {};
    blocks.begin()->second.used = true;
    Node list{.type = Node::Type::list, .mark = default_mark()};
    list.items.push_back(scalar_node(blocks.begin()->first, false, default_mark()));
    set(resolved, "layers", std::move(list));
    return {blocks.begin()->first};
  }
  if (node->type != Node::Type::list || node->items.empty()) {
    const auto got = node->type == Node::Type::list ? "an empty list" : node->what();
    reader.report(node->mark, "model.layers", "got " + got + ", expected a list of layers");
    return {};
  }
  std::vector<std::string> stack;
  Node list{.type = Node::Type::list, .mark = node->mark};
  for (std::size_t i = 0; i < node->items.size(); ++i) {
    const auto names =
        expand(reader, node->items[i], below("model.layers", std::to_string(i)), blocks, list.items.emplace_back());
    stack.insert(stack.end(), names.begin(), names.end());
  }
  if (static_cast<std::int64_t>(stack.size()) > kMostLayers) {
    reader.report(node->mark, "model.layers", "more than " + std::to_string(kMostLayers) + " layers");
    stack.clear();
  }
  set(resolved, "layers", std::move(list));
  return stack;
}

/// The sizes of a block that stands where features of width `width` come in.
Dims dims_for(const Block& block, Dims dims, std::int64_t width) {
  const auto& keys = block.keys;
  dims.d_model = width;
  if (keys.n_heads) {
    dims.n_kv_heads = *keys.n_heads;
    dims.n_heads = *keys.n_heads;
  }
  if (keys.n_kv_heads) dims.n_kv_heads = *keys.n_kv_heads;
  if (keys.d_head) dims.d_head = *keys.d_head;
  if (dims.d_head == 0 && width % dims.n_heads == 0) dims.d_head = width / dims.n_heads;
  if (keys.kernel) dims.kernel = *keys.kernel;
  return dims;
}

void check_kernel(Reader& reader, const Block& block, const Claims& claims) {
  if (!block.keys.kernel) return;
  const auto place = below(block.path, "kernel");
  const auto& mark = mark_of(*block.node, "kernel");
  auto known = kernel_names();
  known.insert(known.begin(), "auto");
  if (std::ranges::find(known, *block.keys.kernel) == known.end()) {
    reader.report(mark, place,
                  "no kernel is called '" + *block.keys.kernel + "' (known: " + support::join(known, ", ") + ")",
                  support::nearest(*block.keys.kernel, known).value_or(""));
  } else if (!claims.core) {
    reader.report(mark, place, "has no effect: the block's attention is not computed by the attention core");
  }
}

/// Fills in a block's place in the stack and asks its variants whether they fit there.
BlockPlan placed(Reader& reader, const std::string& name, const Block& block, const Dims& model_dims,
                 std::int64_t width, const Node& model) {
  const auto& keys = block.keys;
  BlockPlan plan{.name = name,
                 .dims = dims_for(block, model_dims, width),
                 .order = order_from(keys.order),
                 .dropout = keys.dropout,
                 .attention = keys.attention,
                 .feed_forward = keys.feed_forward,
                 .norm = keys.norm};
  const auto check = [&](const Component& component, const std::string& key, const Dims& dims) {
    const Node* node = block.node->find(key);
    if (component && node != nullptr) {
      check_component(reader, component, dims, *node, below(block.path, key), model, block.node, block.path);
    }
  };
  check(keys.attention, "attention", plan.dims);
  if (keys.attention) plan.claims = keys.attention.variant->claims(plan.dims, keys.attention.values);
  check_kernel(reader, block, plan.claims);
  plan.d_out = plan.claims.d_out == 0 ? width : plan.claims.d_out;
  Dims after = plan.dims;
  after.d_model = plan.d_out;
  check(keys.feed_forward, "feed_forward", after);
  check(keys.norm, "norm", after);
  if (plan.order != Order::plain && plan.d_out != width) {
    reader.report(mark_of(*block.node, "attention"), below(block.path, "attention"),
                  "hands on width " + std::to_string(plan.d_out) +
                      ", but a residual needs d_model = " + std::to_string(width) + "; order: plain has no residual");
  }
  return plan;
}

}  // namespace

std::vector<BlockPlan> read_layers(Reader& reader, const Node& model, const Dims& dims, bool sizes_sound,
                                   Node& resolved) {
  auto blocks = read_blocks(reader, model, resolved);
  const auto stack = read_stack(reader, model, blocks, resolved);
  for (const auto& [name, block] : blocks) {
    if (!block.used && !stack.empty()) {
      reader.report(block.node->mark, block.path, "is defined, but no layer uses it");
    }
  }
  if (!sizes_sound) return {};
  std::vector<BlockPlan> plans;
  std::map<std::pair<std::string, std::int64_t>, BlockPlan> seen;  // a block is checked once per width
  std::int64_t width = dims.d_model;
  for (const auto& name : stack) {
    if (!blocks.at(name).sound) continue;
    auto found = seen.find({name, width});
    if (found == seen.end()) {
      found = seen.emplace(std::pair{name, width}, placed(reader, name, blocks.at(name), dims, width, model)).first;
    }
    auto plan = found->second;
    plan.dims.layer = static_cast<std::int64_t>(plans.size());
    plan.dims.n_layers = static_cast<std::int64_t>(stack.size());
    width = plan.d_out;
    plans.push_back(std::move(plan));
  }
  return plans;
}

void check_component(Reader& reader, const Component& component, const Dims& dims, const Node& node,
                     const std::string& path, const Node& model, const Node* block, const std::string& block_path) {
  Complaints complaints;
  component.variant->check(dims, component.values, complaints);
  for (const auto& [name, message] : complaints.items()) {
    const auto& rows = component.variant->params;
    const bool parameter = std::ranges::find(rows, name, &ParamSpec::name) != rows.end();
    if (parameter) {
      const Node* value = node.find(name);
      reader.report(value == nullptr ? node.mark : value->mark, below(path, name), message);
    } else if (block != nullptr && block->find(name) != nullptr) {
      reader.report(block->find(name)->mark, below(block_path, name), message);
    } else if (const Node* size = model.find(name)) {
      reader.report(size->mark, below("model", name), message);
    } else {
      const auto known = model_table().keys();
      const bool of_the_model = std::ranges::find(known, name) != known.end();  // and not given: it is missing
      reader.report(node.mark, of_the_model ? below("model", name) : path, message);
    }
  }
}

}  // namespace headwright::bind

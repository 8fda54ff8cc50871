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
  if (!keys.attention && !keys.cross_attention && !keys.feed_forward) {
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
  if (keys.order == "parallel" && keys.cross_attention) {
    reader.report(mark_of(*block.node, "cross_attention"), below(block.path, "cross_attention"),
                  "has no place in order parallel, where nothing stands between attention and feed_forward; choose "
                  "another order");
  }
  if (keys.order == "plain" && keys.dropout > 0) {
    reader.report(mark_of(*block.node, "dropout"), below(block.path, "dropout"),
                  "has no place in order plain, which has no residual");
  }
}

/// In the slot `cross_attention` a variant that can read the memory does, unless the config says otherwise.
void default_cross(BlockKeys& keys, const Node& block, Node& resolved) {
  for (auto& [name, value] : keys.cross_attention.values) {
    const Node& written = *block.find("cross_attention");
    const bool given = written.type == Node::Type::map && written.find("cross") != nullptr;
    if (name != "cross" || !std::holds_alternative<bool>(value.data) || given) continue;
    value = {true};
    set(*resolved.find("cross_attention"), "cross", scalar_node("true", false, default_mark()));
  }
}

Blocks read_blocks(Reader& reader, const Section& owner, Node& resolved) {
  Blocks blocks;
  const auto place = below(owner.path, "blocks");
  const Node* node = owner.node->find("blocks");
  if (node == nullptr) {
    reader.report(owner.node->mark, place, "missing, expected a map of named blocks");
    return blocks;
  }
  if (!expect_map(reader, *node, place, "a map of named blocks")) return blocks;
  if (node->entries.empty()) reader.report(node->mark, place, "is empty, expected at least one named block");
  Node section = map_node(node->mark);
  for (const auto& [name, mark, value] : node->entries) {
    const auto path = below(place, name);
    if (!expect_map(reader, value, path, "a map with an attention, a feed_forward, or both")) continue;
    Node part = map_node(value.mark);
    const auto problems = reader.problems.size();
    auto& block = blocks[name] = {read_section<BlockKeys>(reader, block_table(), value, path, part), &value, path};
    block.sound = reader.problems.size() == problems;
    if (block.sound) {
      default_cross(block.keys, value, part);
      check_block(reader, block);
    }
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

std::vector<std::string> read_stack(Reader& reader, const Section& owner, Blocks& blocks, Node& resolved) {
  const auto place = below(owner.path, "layers");
  const Node* node = owner.node->find("layers");
  if (node == nullptr) {
    if (blocks.size() > 1) {
      reader.report(
          owner.node->mark, place,
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
    reader.report(node->mark, place, "got " + got + ", expected a list of layers");
    return {};
  }
  std::vector<std::string> stack;
  Node list{.type = Node::Type::list, .mark = node->mark};
  for (std::size_t i = 0; i < node->items.size(); ++i) {
    const auto names =
        expand(reader, node->items[i], below(place, std::to_string(i)), blocks, list.items.emplace_back());
    stack.insert(stack.end(), names.begin(), names.end());
  }
  if (static_cast<std::int64_t>(stack.size()) > kMostLayers) {
    reader.report(node->mark, place, "more than " + std::to_string(kMostLayers) + " layers");
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

void check_kernel(Reader& reader, const Block& block, const BlockPlan& plan) {
  if (!block.keys.kernel) return;
  const auto place = below(block.path, "kernel");
  const auto& mark = mark_of(*block.node, "kernel");
  auto known = kernel_names();
  known.insert(known.begin(), "auto");
  if (std::ranges::find(known, *block.keys.kernel) == known.end()) {
    reader.report(mark, place,
                  "no kernel is called '" + *block.keys.kernel + "' (known: " + support::join(known, ", ") + ")",
                  support::nearest(*block.keys.kernel, known).value_or(""));
  } else if (!plan.claims.core && !plan.cross_claims.core) {
    reader.report(mark, place, "has no effect: the block's attention is not computed by the attention core");
  }
}

/// Whether what stands in a slot reads the memory, and whether there is one.
void check_memory(Reader& reader, const Block& block, const BlockPlan& plan, bool in_encoder) {
  const auto refuse = [&](const std::string& key, const std::string& message) {
    reader.report(mark_of(*block.node, key), below(block.path, key), message);
  };
  const auto in_quotes = [](const Component& component) { return "'" + component.variant->name + "'"; };
  if (in_encoder) {
    if (plan.attention && plan.claims.memory) {
      refuse("attention", in_quotes(plan.attention) + " reads a memory here, and an encoder's layers have none");
    }
    if (plan.cross_attention) refuse("cross_attention", "has no place in an encoder, whose layers have no memory");
    if (plan.claims.document_ids) {
      refuse("attention", in_quotes(plan.attention) + " reads document ids here, and the memory has none");
    }
    return;
  }
  if (!plan.cross_attention || plan.cross_claims.memory) return;
  const auto& rows = plan.cross_attention.variant->params;
  const bool switched = std::ranges::any_of(
      rows, [](const ParamSpec& row) { return row.name == "cross" && row.type == ParamType::boolean; });
  refuse("cross_attention", in_quotes(plan.cross_attention) +
                                (switched ? " reads no memory with cross: false; leave it out, or write cross: true"
                                          : " reads no memory; expected a variant that does, such as softmax"));
}

/// Fills in a block's place in the stack and asks its variants whether they fit there.
BlockPlan placed(Reader& reader, const std::string& name, const Block& block, const Dims& stack_dims,
                 std::int64_t width, Sections sections) {
  const auto& keys = block.keys;
  const bool in_encoder = sections.size() > 1;
  sections.insert(sections.begin(), {block.node, block.path});
  BlockPlan plan{.name = name,
                 .dims = dims_for(block, stack_dims, width),
                 .order = order_from(keys.order),
                 .dropout = keys.dropout,
                 .attention = keys.attention,
                 .feed_forward = keys.feed_forward,
                 .norm = keys.norm,
                 .d_out = width,
                 .cross_attention = keys.cross_attention};
  const auto check = [&](const Component& component, const std::string& key, const Dims& dims) {
    const Node* node = block.node->find(key);
    if (component && node != nullptr) {
      check_component(reader, component, dims, {node, below(block.path, key)}, sections);
    }
  };
  // Claims of an attention, whose width the block hands on
  const auto ask = [&](const Component& component, const std::string& key, const Dims& dims) -> Claims {
    check(component, key, dims);
    if (!component) return {};
    auto claims = component.variant->claims(dims, component.values);
    if (claims.d_out > 0) plan.d_out = claims.d_out;
    if (plan.order != Order::plain && plan.d_out != width) {
      reader.report(mark_of(*block.node, key), below(block.path, key),
                    "hands on width " + std::to_string(plan.d_out) +
                        ", but a residual needs d_model = " + std::to_string(width) + "; order: plain has no residual");
      plan.d_out = width;
    }
    return claims;
  };
  plan.claims = ask(keys.attention, "attention", plan.dims);
  plan.cross_dims = dims_for(block, stack_dims, plan.d_out);
  plan.cross_claims = ask(keys.cross_attention, "cross_attention", plan.cross_dims);
  check_kernel(reader, block, plan);
  check_memory(reader, block, plan, in_encoder);
  check(keys.feed_forward, "feed_forward", plan.feed_forward_dims());
  check(keys.norm, "norm", plan.feed_forward_dims());
  return plan;
}

}  // namespace

std::vector<BlockPlan> read_layers(Reader& reader, const Sections& sections, const Dims& dims, bool sizes_sound,
                                   Node& resolved) {
  const auto& owner = sections.front();
  auto blocks = read_blocks(reader, owner, resolved);
  const auto stack = read_stack(reader, owner, blocks, resolved);
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
      found = seen.emplace(std::pair{name, width}, placed(reader, name, blocks.at(name), dims, width, sections)).first;
    }
    auto plan = found->second;
    for (auto* place : {&plan.dims, &plan.cross_dims}) {
      place->layer = static_cast<std::int64_t>(plans.size());
      place->n_layers = static_cast<std::int64_t>(stack.size());
    }
    width = plan.d_out;
    plans.push_back(std::move(plan));
  }
  return plans;
}

void check_component(Reader& reader, const Component& component, const Dims& dims, const Section& as_written,
                     const Sections& sections) {
  Issues issues;
  component.variant->check(dims, component.values, issues);
  const auto encoder = std::ranges::find(sections, "model.encoder", &Section::path);
  for (const auto& [name, message] : issues.items()) {
    const auto& rows = component.variant->params;
    const bool parameter = std::ranges::find(rows, name, &ParamSpec::name) != rows.end();
    const auto section =
        std::ranges::find_if(sections, [&name = name](const Section& it) { return it.node->find(name) != nullptr; });
    if (parameter) {
      const Node* value = as_written.node->find(name);
      reader.report(value == nullptr ? as_written.node->mark : value->mark, below(as_written.path, name), message);
    } else if (section != sections.end() && section->path == "model" && encoder != sections.end()) {
      reader.report(encoder->node->mark, below(encoder->path, name), message);  // the encoder's own, though not written
    } else if (section != sections.end()) {
      reader.report(section->node->find(name)->mark, below(section->path, name), message);
    } else {
      const auto known = model_table().keys();
      const bool of_the_model = std::ranges::find(known, name) != known.end();  // and not given: it is missing
      reader.report(as_written.node->mark, of_the_model ? below("model", name) : as_written.path, message);
    }
  }
}

}  // namespace headwright::bind

// Expands `layers` with its patterns, repeats and shared layers into one block for each layer.
#include "bind/layers.h"

#include <algorithm>
#include <map>

#include "bind/blocks.h"
#include "bind/placing.h"
#include "bind/rows.h"
#include "spec/scalars.h"
#include "support/text.h"

namespace headwright::bind {
namespace {

using spec::Node;

struct Layer {
  std::string block;
  std::optional<std::size_t> shared;  // the earlier layer whose module it is
};

struct Stack {
  std::vector<Layer> layers;
  bool sound = true;  // false: an entry could not be read, so that layers are missing
};

using Names = std::vector<std::pair<std::string, const Node*>>;  // of blocks, and where they are written

/// The blocks that an entry of the form {use, repeat} or {pattern, repeat} names.
Names named_in(Reader& reader, const Node& item, const std::string& path, const LayerKeys& keys) {
  Names names;
  const Node* pattern = item.find("pattern");
  if (keys.use) names.emplace_back(*keys.use, item.find("use"));
  for (std::size_t i = 0; keys.pattern && i < keys.pattern->size(); ++i) {
    names.emplace_back((*keys.pattern)[i], &pattern->items[i]);
  }
  if ((item.find("use") != nullptr) == (pattern != nullptr)) {
    reader.report(item.mark, path, "expected one of 'use' and 'pattern'");
  }
  if (pattern != nullptr && names.empty() && pattern->type == Node::Type::list) {
    reader.report(pattern->mark, below(path, "pattern"), "is empty, expected the names of blocks");
  }
  if (keys.shared && keys.repeat == 1) {
    reader.report(item.find("shared")->mark, below(path, "shared"), "has no effect without repeat");
  }
  return names;
}

/// True if all of them are there; they are used then.
bool use_blocks(Reader& reader, const Names& names, const std::string& path, Blocks& blocks) {
  bool sound = true;
  std::vector<std::string> known;
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
  return sound;
}

/// Appends the layers of one entry of `layers`, in order, repeats included.
void expand(Reader& reader, const Node& item, const std::string& path, Blocks& blocks, Stack& stack, Node& resolved) {
  LayerKeys keys;
  Names names;
  resolved = item;
  if (item.type == Node::Type::scalar && !spec::is_null(item)) {
    names.emplace_back(item.text, &item);
  } else if (expect_map(reader, item, path, "the name of a block, {use, repeat} or {pattern, repeat}")) {
    resolved = map_node(item.mark);
    keys = read_section<LayerKeys>(reader, layer_table(), item, path, resolved);
    drop_absent(resolved);
    names = named_in(reader, item, path, keys);
  }
  bool sound = use_blocks(reader, names, path, blocks) && !names.empty();
  if (static_cast<std::int64_t>(names.size()) * keys.repeat > kMostLayers) {
    reader.report(item.mark, path, "more than " + std::to_string(kMostLayers) + " layers");
    sound = false;
  }
  stack.sound &= sound;
  const auto before = stack.layers.size();
  for (std::int64_t i = 0; sound && i < keys.repeat; ++i) {
    for (std::size_t place = 0; place < names.size(); ++place) {
      Layer layer{names[place].first};
      if (keys.shared && i > 0) layer.shared = before + place;
      stack.layers.push_back(std::move(layer));
    }
  }
}

Stack read_stack(Reader& reader, const Section& owner, Blocks& blocks, Node& resolved) {
  const auto place = below(owner.path, "layers");
  const Node* node = owner.node->find("layers");
  if (node == nullptr) {
    if (blocks.size() > 1) {
      reader.report(
          owner.node->mark, place,
          "missing: there is more than one block, so say which stand where, such as [" + blocks.begin()->first + "]");
    }
    if (blocks.size() != 1) return {.layers = {}, .sound = false};
    blocks.begin()->second.used = true;
    Node list{.type = Node::Type::list, .mark = default_mark()};
    list.items.push_back(scalar_node(blocks.begin()->first, false, default_mark()));
    set(resolved, "layers", std::move(list));
    return {.layers = {Layer{blocks.begin()->first}}};
  }
  if (node->type != Node::Type::list || node->items.empty()) {
    const auto got = node->type == Node::Type::list ? "an empty list" : node->what();
    reader.report(node->mark, place, "got " + got + ", expected a list of layers");
    return {.layers = {}, .sound = false};
  }
  Stack stack;
  Node list{.type = Node::Type::list, .mark = node->mark};
  for (std::size_t i = 0; i < node->items.size(); ++i) {
    expand(reader, node->items[i], below(place, std::to_string(i)), blocks, stack, list.items.emplace_back());
  }
  if (static_cast<std::int64_t>(stack.layers.size()) > kMostLayers) {
    reader.report(node->mark, place, "more than " + std::to_string(kMostLayers) + " layers");
    stack = {.layers = {}, .sound = false};
  }
  set(resolved, "layers", std::move(list));
  return stack;
}

/// A module that stands in several places meets the same width in each, and hands on what it reads.
void check_shared(Reader& reader, const Section& owner, const BlockPlan& plan) {
  if (!plan.shared || plan.d_out == plan.dims.d_model) return;
  reader.report(mark_of(*owner.node, "layers"), below(owner.path, "layers"),
                "block '" + plan.name + "' is shared, but hands on width " + std::to_string(plan.d_out) +
                    " where it reads " + std::to_string(plan.dims.d_model));
}

/// By name and width: a block is checked once for each.
using PlacedBlocks = std::map<std::pair<std::string, std::int64_t>, BlockPlan>;

/// What no entry of `layers` names, or only one that is wrong itself, is looked at too, at the width of the model.
void check_unplaced(Reader& reader, const Blocks& blocks, const PlacedBlocks& placed, const Dims& dims,
                    const Sections& sections) {
  for (const auto& [name, block] : blocks) {
    const bool known = std::ranges::any_of(placed, [&](const auto& entry) { return entry.first.first == name; });
    if (!known && block.readable) place_block(reader, name, block, dims, dims.d_model, sections);
  }
}

}  // namespace

std::vector<BlockPlan> read_layers(Reader& reader, const Sections& sections, const Dims& dims, bool sizes_sound,
                                   Node& resolved) {
  const auto& owner = sections.front();
  auto blocks = read_blocks(reader, owner, resolved);
  const auto stack = read_stack(reader, owner, blocks, resolved);
  for (const auto& [name, block] : blocks) {
    if (!block.used && stack.sound) {
      reader.report(block.node->mark, block.path, "is defined, but no layer uses it");
    }
  }
  if (!sizes_sound) return {};
  std::vector<BlockPlan> plans;
  PlacedBlocks seen;
  std::int64_t width = dims.d_model;
  bool complete = stack.sound;
  for (const auto& [name, shared] : stack.layers) {
    const auto& block = blocks.at(name);
    complete &= block.readable;
    if (!block.readable) continue;
    auto found = seen.find({name, width});
    if (found == seen.end()) {
      found = seen.emplace(std::pair{name, width}, place_block(reader, name, block, dims, width, sections)).first;
    }
    auto plan = found->second;
    for (auto& sublayer : plan.sublayers) {
      sublayer.dims.layer = static_cast<std::int64_t>(plans.size());
      sublayer.dims.n_layers = static_cast<std::int64_t>(stack.layers.size());
    }
    plan.shared = shared;
    width = plan.d_out;
    check_shared(reader, owner, plan);
    plans.push_back(std::move(plan));
  }
  if (width == dims.d_model) check_unplaced(reader, blocks, seen, dims, sections);
  if (!complete) return {};  // of a stack with a hole, what follows is a guess
  return plans;
}

}  // namespace headwright::bind

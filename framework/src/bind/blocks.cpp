// Reads a block in either form. Each short order expands to the sublayers that it stands for here and nowhere else.
#include "bind/blocks.h"

#include <algorithm>
#include <array>

#include "bind/rows.h"
#include "bind/values.h"
#include "spec/scalars.h"
#include "support/text.h"

namespace headwright::bind {
namespace {

using spec::Node;

constexpr std::array kSlots{"attention", "cross_attention", "feed_forward"};

const Component& in_slot(const SlotKeys& keys, std::string_view slot) {
  if (slot == "attention") return keys.attention;
  return slot == "cross_attention" ? keys.cross_attention : keys.feed_forward;
}

/// In the slot `cross_attention` a variant that can read the memory does, unless the config says otherwise.
void default_cross(SlotKeys& keys, const Node& owner, Node& resolved) {
  for (auto& [name, value] : keys.cross_attention.values) {
    const Node& written = *owner.find("cross_attention");
    const bool says = written.type == Node::Type::map && written.find("cross") != nullptr;
    if (name != "cross" || !std::holds_alternative<bool>(value.data) || says) continue;
    value = {true};
    set(*resolved.find("cross_attention"), "cross", scalar_node("true", false, default_mark()));
  }
}

// --- the short orders ---------------------------------------------------------------------------

/// whole: no key of the block is in doubt, such as one that is misspelt and gives what seems to be missing.
void check_short(Reader& reader, const Block& block, bool whole) {
  const auto& order = block.keys.order;
  const auto has = [&](const char* key) { return given(*block.node, key); };
  const auto refuse = [&](const std::string& at, const std::string& key, const std::string& message) {
    reader.report(mark_of(*block.node, at), below(block.path, key), message);
  };
  if (whole && !has("attention") && !has("cross_attention") && !has("feed_forward")) {
    reader.report(block.node->mark, block.path, "does nothing: give it an attention, a feed_forward, or both");
  }
  if (order != "plain" && !has("norm")) {
    refuse("order", "norm",
           "missing: order " + order + " needs one, such as norm: layer_norm; order: plain needs none");
  }
  if (order == "plain" && has("norm")) {
    refuse("norm", "norm", "has no place in order plain, which has no norms; leave it out, or choose another order");
  }
  if (order == "parallel" && !(has("attention") && has("feed_forward"))) {
    refuse("order", "order", "got parallel, which needs both an attention and a feed_forward");
  }
  if (order == "parallel" && has("cross_attention")) {
    refuse("cross_attention", "cross_attention",
           "has no place in order parallel, where nothing stands between attention and feed_forward; choose another "
           "order");
  }
  if (order == "plain" && block.keys.dropout > 0) {
    refuse("dropout", "dropout", "has no place in order plain, which has no residual");
  }
}

/// pre_norm:  x + f(norm(x)), one after the other      post_norm: norm(x + f(x))
/// parallel:  x + f(n) + g(n), n = norm(x)             plain:     f(x)
void expand_short(Block& block) {
  const auto& keys = block.keys;
  const Section norm{block.node->find("norm"), below(block.path, "norm")};
  for (const auto* slot : kSlots) {
    const auto& component = in_slot(keys, slot);
    if (!component) continue;
    SublayerDraft draft{.slot = slot, .component = {block.node->find(slot), below(block.path, slot)}};
    draft.entry = draft.component;
    auto& plan = draft.plan;
    plan.component = component;
    plan.name = slot;
    plan.dropout = keys.dropout;
    plan.residual = keys.order != "plain";
    if (keys.order == "post_norm") {
      plan.residual_norm = keys.norm;
      draft.residual_norm = norm;
    } else if (keys.order == "parallel" && !block.sublayers.empty()) {
      plan.shared_norm = block.sublayers.front().plan.name;
    } else if (keys.order != "plain") {
      plan.norm = keys.norm;
      draft.norm = norm;
    }
    if (keys.order == "parallel") plan.input = Reads::block;
    block.sublayers.push_back(std::move(draft));
  }
}

// --- the long form ------------------------------------------------------------------------------

/// What the short form says and the long form says entry by entry.
void check_long(Reader& reader, const Block& block) {
  for (const auto* key : {"order", "norm", "dropout", "attention", "cross_attention", "feed_forward"}) {
    if (!given(*block.node, key)) continue;
    reader.report(mark_of(*block.node, key), below(block.path, key),
                  "has no place beside sublayers, whose entries say it; write it in an entry, or leave sublayers out");
  }
}

/// The one component of an entry; empty and reported where there is none, or more than one.
std::string slot_of(Reader& reader, const Section& entry) {
  std::vector<std::string> slots;
  for (const auto* slot : kSlots) {
    if (given(*entry.node, slot)) slots.emplace_back(slot);
  }
  if (slots.size() == 1) return slots.front();
  reader.report(entry.node->mark, entry.path,
                "got " + (slots.empty() ? "none" : support::join(slots, " and ")) +
                    ", expected exactly one of attention, cross_attention, feed_forward");
  return "";
}

void check_entry(Reader& reader, const SublayerDraft& draft, const std::vector<SublayerDraft>& before) {
  const auto& plan = draft.plan;
  const auto& [node, path] = draft.entry;
  const auto refuse = [&, node = node, path = path](const std::string& key, const std::string& message) {
    reader.report(mark_of(*node, key), below(path, key), message);
  };
  std::vector<std::string> names;
  for (const auto& other : before) names.push_back(other.plan.name);
  if (std::ranges::find(names, plan.name) != names.end()) {
    refuse("name", "got " + plan.name + ", as an earlier sublayer is called; give each a name of its own");
  }
  if (!plan.residual) {
    const char* needless = "has no place without a residual";
    if (plan.residual_norm) refuse("residual_norm", std::string(needless) + "; write output_norm");
    if (plan.residual_scale != 1) refuse("residual_scale", needless);
    if (plan.dropout > 0) refuse("dropout", needless);
  }
  if (plan.shared_norm.empty()) return;
  if (plan.norm) refuse("shared_norm", "stands beside 'norm', expected one of them");
  const auto of = std::ranges::find(before, plan.shared_norm, [](const auto& other) { return other.plan.name; });
  if (of == before.end() || !of->plan.norm) {
    refuse("shared_norm", "got " + plan.shared_norm + ", which is no earlier sublayer with a norm of what goes in");
  } else if (plan.input != of->plan.input || plan.input != Reads::block) {
    refuse("shared_norm", "needs input: block here and in '" + plan.shared_norm + "', so that both read the same");
  }
}

/// A name that torch takes for a module and that is none of the norms'.
bool fits_a_module(const std::string& name) {
  const bool letters = std::ranges::all_of(
      name, [](unsigned char c) { return (std::isalnum(c) != 0 && std::isupper(c) == 0) || c == '_'; });
  return letters && !name.empty() && std::isdigit(static_cast<unsigned char>(name.front())) == 0 &&
         !name.ends_with("_norm") && name != "dropout";
}

bool read_entry(Reader& reader, const Section& entry, Block& block, Node& resolved) {
  if (!expect_map(reader, *entry.node, entry.path, "a map with an attention or a feed_forward")) return false;
  resolved = map_node(entry.node->mark);
  auto keys = read_section<SublayerKeys>(reader, sublayer_table(), *entry.node, entry.path, resolved);
  drop_absent(resolved);
  const auto slot = slot_of(reader, entry);
  if (slot.empty() || !in_slot(keys, slot)) return false;
  if (slot == "cross_attention") default_cross(keys, *entry.node, resolved);
  const auto at = [&](const char* key) -> Section { return {entry.node->find(key), below(entry.path, key)}; };
  SublayerDraft draft{.slot = slot,
                      .component = at(slot.c_str()),
                      .norm = at("norm"),
                      .output_norm = at("output_norm"),
                      .residual_norm = at("residual_norm"),
                      .entry = entry};
  auto& plan = draft.plan;
  plan.component = in_slot(keys, slot);
  plan.name = keys.name.value_or(slot);
  plan.norm = keys.norm;
  plan.output_norm = keys.output_norm;
  plan.residual_norm = keys.residual_norm;
  plan.shared_norm = keys.shared_norm.value_or("");
  plan.input = keys.input == "block" ? Reads::block : Reads::previous;
  plan.residual = keys.residual;
  plan.residual_scale = keys.residual_scale;
  plan.dropout = keys.dropout;
  if (!fits_a_module(plan.name)) {
    reader.report(
        mark_of(*entry.node, "name"), below(entry.path, "name"),
        "got '" + support::printable(plan.name) + "', expected lower case letters, digits and _, not ending in _norm");
  }
  check_entry(reader, draft, block.sublayers);
  block.sublayers.push_back(std::move(draft));
  return true;
}

bool read_long(Reader& reader, const Node& list, Block& block, Node& resolved) {
  const auto path = below(block.path, "sublayers");
  if (list.type != Node::Type::list || list.items.empty()) {
    const auto got = list.type == Node::Type::list ? "an empty list" : list.what();
    reader.report(list.mark, path, "got " + got + ", expected a list of sublayers");
    return false;
  }
  check_long(reader, block);
  for (const auto* key : {"order", "norm", "dropout", "attention", "cross_attention", "feed_forward"}) {
    std::erase_if(resolved.entries, [&](const spec::Entry& entry) { return entry.key == key; });
  }
  Node entries{.type = Node::Type::list, .mark = list.mark};
  bool readable = true;
  for (std::size_t i = 0; i < list.items.size(); ++i) {
    const Section entry{&list.items[i], below(path, std::to_string(i))};
    readable &= read_entry(reader, entry, block, entries.items.emplace_back());
  }
  set(resolved, "sublayers", std::move(entries));
  return readable;
}

// ------------------------------------------------------------------------------------------------

/// Every component that the block names was read, whatever else is wrong with it.
bool components_read(const Block& block) {
  const auto read = [&](const char* key, const Component& component) { return !given(*block.node, key) || component; };
  const auto& keys = block.keys;
  return read("attention", keys.attention) && read("cross_attention", keys.cross_attention) &&
         read("feed_forward", keys.feed_forward) && read("norm", keys.norm);
}

Block read_block(Reader& reader, const Node& value, const std::string& path, Node& resolved) {
  const auto problems = reader.problems.size();
  Block block{read_section<BlockKeys>(reader, block_table(), value, path, resolved), {}, &value, path};
  const bool whole = reader.problems.size() == problems;
  block.readable = components_read(block);
  if (given(value, "sublayers")) {
    block.readable &= read_long(reader, *value.find("sublayers"), block, resolved);
    return block;
  }
  check_short(reader, block, whole);
  if (!block.readable) return block;
  default_cross(block.keys, value, resolved);
  expand_short(block);
  block.readable = !block.sublayers.empty();
  return block;
}

}  // namespace

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
    blocks[name] = read_block(reader, value, path, part);
    set(section, name, std::move(part));
  }
  set(resolved, "blocks", std::move(section));
  return blocks;
}

}  // namespace headwright::bind

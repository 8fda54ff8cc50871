// Reads `model`: sizes first, then the embedding, the encoder, the layers and the head.
#include "bind/model_section.h"

#include <algorithm>

#include "bind/layers.h"
#include "bind/placing.h"
#include "bind/rows.h"
#include "bind/tables.h"
#include "bind/walk.h"
#include "spec/scalars.h"
#include "support/text.h"

namespace headwright::bind {
namespace {

using spec::Node;

Dims dims_of(const ModelKeys& keys, const RunPlan& run) {
  const auto n_heads = keys.n_heads.value_or(1);
  return {.d_model = keys.d_model,
          .n_heads = n_heads,
          .n_kv_heads = keys.n_kv_heads.value_or(n_heads),
          .d_head = keys.d_head.value_or(0),
          .context_length = keys.context_length.value_or(0),
          .d_memory = keys.d_memory.value_or(keys.d_model),
          .kernel = run.kernel};
}

/// What the encoder leaves out is as in the model; heads that it gives decide on the rest of theirs.
Dims dims_of(const EncoderKeys& keys, const Dims& model, const ModelKeys& model_keys) {
  auto dims = model;
  dims.d_model = keys.d_model.value_or(model.d_model);
  dims.n_heads = keys.n_heads.value_or(model.n_heads);
  dims.n_kv_heads = keys.n_kv_heads.value_or(keys.n_heads ? dims.n_heads : model.n_kv_heads);
  dims.d_head = keys.d_head.value_or(keys.n_heads || keys.d_model ? 0 : model_keys.d_head.value_or(0));
  dims.context_length = keys.context_length.value_or(model.context_length);
  dims.d_memory = dims.d_model;
  return dims;
}

/// A component of a section that is no part of a block: asked about its place, with its claims there.
Placed placed(Reader& reader, const Component& component, const std::string& key, const Dims& dims,
              const Sections& sections) {
  if (!component) return {};
  const auto& owner = sections.front();
  const Section at{owner.node->find(key), below(owner.path, key)};
  const auto problems = reader.problems.size();
  check_component(reader, component, dims, at, sections);
  Placed placed{.component = component, .dims = dims, .mark = at.node->mark, .written_at = at.path};
  if (reader.problems.size() == problems) placed.claims = component.variant->claims(dims, component.values);
  return placed;
}

void check_width(Reader& reader, const Placed& embedding) {
  const auto width = embedding.claims.d_out;
  if (!embedding || width == 0 || width == embedding.dims.d_model) return;
  reader.report(
      embedding.mark, embedding.written_at,
      "hands on width " + std::to_string(width) + ", but d_model is " + std::to_string(embedding.dims.d_model));
}

/// A matrix that is shared: there has to be one, of the same shape. of: the width that reads it.
void check_tied(Reader& reader, const Placed& tied, const Placed& embedding, std::int64_t width) {
  if (!tied || !tied.claims.tied) return;
  const Node* row = nullptr;
  const auto refuse = [&](const std::string& message) {
    reader.report(row == nullptr ? tied.mark : row->mark, below(tied.written_at, "tied"), "got true, but " + message);
  };
  if (!embedding) return refuse("the model has no embedding to share a matrix with");
  if (!embedding.claims.matrix) {
    return refuse("'" + embedding.component.variant->name + "' has no matrix to share");
  }
  if (width != embedding.dims.d_model) {
    refuse("it reads width " + std::to_string(width) +
           ", and the matrix of the embedding has d_model = " + std::to_string(embedding.dims.d_model));
  }
}

PositionsPlan read_positions(Reader& reader, const Section& owner, Node& resolved) {
  const Node* node = owner.node->find("positions");
  if (node == nullptr || spec::is_null(*node)) return {};
  const auto path = below(owner.path, "positions");
  if (!expect_map(reader, *node, path, "a map with count and restart")) return {};
  Node section = map_node(node->mark);
  const auto keys = read_section<PositionsKeys>(reader, positions_table(), *node, path, section);
  set(resolved, "positions", std::move(section));
  return {.visible = keys.count == "visible", .per_document = keys.restart == "document"};
}

/// Counting that nothing follows, or along what nothing tells.
void check_positions(Reader& reader, const Section& owner, const StackPlan& stack, bool followed, bool key_mask,
                     bool documents) {
  if (!given(*owner.node, "positions") || stack.blocks.empty()) return;
  const auto path = below(owner.path, "positions");
  const auto& node = *owner.node->find("positions");
  if (!followed) reader.report(node.mark, path, "has no effect: neither the embedding nor a layer follows positions");
  if (stack.positions.visible && !key_mask) {
    reader.report(mark_of(node, "count"), below(path, "count"), "got visible, but the layers take no key mask");
  }
  if (stack.positions.per_document && !documents) {
    reader.report(mark_of(node, "restart"), below(path, "restart"), "got document, but no layer keeps documents apart");
  }
}

std::optional<StackPlan> read_encoder(Reader& reader, const Section& model, const ModelKeys& model_keys,
                                      const ModelPlan& plan, bool sizes_sound, Node& resolved) {
  const Node* node = model.node->find("encoder");
  const Section encoder{node, below(model.path, "encoder")};
  if (node == nullptr || spec::is_null(*node)) return {};
  if (!expect_map(reader, *node, encoder.path, "a map with blocks")) return {};
  Node section = map_node(node->mark);
  const auto problems = reader.problems.size();
  const auto keys = read_section<EncoderKeys>(reader, encoder_table(), *node, encoder.path, section);
  sizes_sound &= reader.problems.size() == problems;
  drop_absent(section);
  const Sections sections{encoder, model};
  StackPlan stack{.dims = dims_of(keys, plan.dims, model_keys)};
  stack.positions = read_positions(reader, encoder, section);
  if (sizes_sound) {
    auto dims = stack.dims;
    dims.vocab_size = plan.embedding.claims.vocab_size;
    stack.embedding = placed(reader, keys.embedding, "embedding", dims, sections);
    check_width(reader, stack.embedding);
    check_tied(reader, stack.embedding, plan.embedding, stack.dims.d_model);
  }
  stack.blocks = read_layers(reader, sections, stack.dims, sizes_sound, section);
  if (sizes_sound) stack.final_norm = placed(reader, keys.final_norm, "final_norm", stack.last_dims(), sections);
  set(resolved, "encoder", std::move(section));
  return stack;
}

/// An encoder that nobody reads, or that hands on another width than is read.
void check_encoder(Reader& reader, const Section& model, const ModelPlan& plan) {
  if (!plan.encoder || plan.blocks.empty()) return;
  if (!plan.takes_memory()) {
    reader.report(model.node->find("encoder")->mark, below(model.path, "encoder"),
                  "has no effect: no layer of the model reads a memory; give a block a cross_attention");
  }
  if (given(*model.node, "d_memory")) {
    reader.report(model.node->find("d_memory")->mark, below(model.path, "d_memory"),
                  "has no place beside an encoder, which hands on its own width; leave it out");
  }
}

/// Learned latents stand in the place of an input, and something has to fill them.
void check_latents(Reader& reader, const ModelPlan& plan) {
  const auto attentions = walk_attentions(plan);
  const bool filled = std::ranges::any_of(attentions, [](const Place& place) { return place.claims->memory; });
  if (plan.takes_x() || plan.blocks.empty() || filled) return;
  reader.report(plan.embedding.mark, plan.embedding.written_at,
                "takes no input, so a layer has to read a memory; give a block a cross_attention");
}

Sizes sizes_read(const StackPlan& stack) {
  Sizes reads;
  for (const auto& block : stack.blocks) {
    for (const auto& sublayer : block.sublayers) reads = both(reads, sublayer.claims.reads);
  }
  return reads;
}

/// The attentions of a stack, each once: "'lstm', 'rnn'".
std::string attentions_of(const StackPlan& stack) {
  std::vector<std::string> names;
  for (const auto& block : stack.blocks) {
    for (const auto& sublayer : block.sublayers) {
      const auto name = "'" + sublayer.component.variant->name + "'";
      if (sublayer.is_attention() && std::ranges::find(names, name) == names.end()) names.push_back(name);
    }
  }
  return names.empty() ? "there is no attention" : "no layer reads it (attention: " + support::join(names, ", ") + ")";
}

/// Sizes that no layer reads, in the model and in the encoder.
void check_all_sizes(Reader& reader, const Section& model, const ModelPlan& plan) {
  if (plan.blocks.empty()) return;
  auto of_model = sizes_read(plan);
  if (plan.encoder) {
    if (plan.encoder->blocks.empty()) return;
    const auto of_encoder = sizes_read(*plan.encoder);
    check_sizes(reader, {model.node->find("encoder"), below(model.path, "encoder")}, of_encoder,
                attentions_of(*plan.encoder));
    of_model = both(of_model, of_encoder);
    of_model.d_memory = true;  // check_encoder() has said what there is to say
  }
  check_sizes(reader, model, of_model, attentions_of(plan));
}

/// Where one layer tells documents apart, another that mixes tokens would carry them across.
void check_documents(Reader& reader, const ModelPlan& plan) {
  const auto attentions = walk_attentions(plan);
  const auto asks = [](const Place& place) { return asks_for_documents(*place.component); };
  if (std::ranges::none_of(attentions, asks)) return;
  for (const auto& place : attentions) {
    const auto& claims = *place.claims;
    if (place.in_encoder || claims.memory || claims.document_ids) continue;
    reader.report(place.sublayer->mark, place.sublayer->written_at, leak_text(place));
  }
}

}  // namespace

std::string leak_text(const Place& place) {
  const bool masked = std::ranges::any_of(
      place.component->values, [](const auto& item) { return std::holds_alternative<Mask>(item.second.data); });
  return "'" + place.component->variant->name + "' mixes tokens across documents, which the model keeps apart; " +
         (masked ? "add document to its mask, such as mask: { all: [causal, document] }"
                 : "expected a variant that honours document ids");
}

ModelPlan read_model(Reader& reader, const Node& node, Node& resolved, const RunPlan& run) {
  ModelPlan plan;
  if (!expect_map(reader, node, "model", "a map")) return plan;
  const Section model{&node, "model"};
  const auto problems = reader.problems.size();
  const auto keys = read_section<ModelKeys>(reader, model_table(), node, "model", resolved);
  const bool sizes_sound = reader.problems.size() == problems;
  plan.dims = dims_of(keys, run);
  plan.positions = read_positions(reader, model, resolved);
  if (sizes_sound) plan.embedding = placed(reader, keys.embedding, "embedding", plan.dims, {model});
  check_width(reader, plan.embedding);
  plan.encoder = read_encoder(reader, model, keys, plan, sizes_sound, resolved);
  if (plan.encoder) plan.dims.d_memory = plan.encoder->last_dims().d_model;
  plan.blocks = read_layers(reader, {model}, plan.dims, sizes_sound, resolved);
  if (sizes_sound) plan.final_norm = placed(reader, keys.final_norm, "final_norm", plan.last_dims(), {model});
  plan.d_out = plan.last_dims().d_model;
  if (sizes_sound && !plan.blocks.empty()) {
    auto dims = plan.last_dims();
    dims.vocab_size = plan.embedding.claims.vocab_size;
    plan.head = placed(reader, keys.head, "head", dims, {model});
    check_tied(reader, plan.head, plan.embedding, dims.d_model);
    if (plan.head && plan.head.claims.d_out > 0) plan.d_out = plan.head.claims.d_out;
  }
  check_encoder(reader, model, plan);
  check_latents(reader, plan);
  check_all_sizes(reader, model, plan);
  check_documents(reader, plan);
  check_positions(reader, model, plan, plan.takes_positions(), plan.takes_key_mask(), plan.takes_document_ids());
  if (plan.encoder) {
    const auto attentions = walk_attentions(plan);
    const bool followed =
        plan.encoder->embedding.claims.positions ||
        std::ranges::any_of(attentions, [](const Place& place) { return place.in_encoder && place.claims->positions; });
    check_positions(reader, {node.find("encoder"), "model.encoder"}, *plan.encoder, followed, plan.takes_memory_mask(),
                    /*documents=*/false);
  }
  return plan;
}

}  // namespace headwright::bind

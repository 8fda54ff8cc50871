#include "bind/model_section.h"

#include "bind/layers.h"
#include "bind/rows.h"
#include "bind/tables.h"
#include "bind/values.h"
#include "spec/scalars.h"

namespace headwright::bind {
namespace {

using spec::Node;

Dims dims_of(const ModelKeys& keys, const RunPlan& run) {
  const auto n_heads = keys.n_heads;
  return {.d_model = keys.d_model,
          .n_heads = n_heads,
          .n_kv_heads = keys.n_kv_heads.value_or(n_heads),
          .d_head = keys.d_head.value_or(0),
          .context_length = keys.context_length.value_or(0),
          .d_memory = keys.d_memory.value_or(keys.d_model),
          .kernel = run.kernel};
}

/// sections: the nearest holds the embedding.
void check_position(Reader& reader, const Component& position, const Dims& dims, const Section& embedding,
                    const Sections& sections) {
  const Node* node = embedding.node->find("position");
  if (!position || node == nullptr) return;
  const auto path = below(embedding.path, "position");
  if (!position.variant->claims(dims, position.values).embed) {
    reader.report(node->mark, path,
                  "'" + position.variant->name + "' adds nothing to an embedding; it belongs under an attention");
  }
  check_component(reader, position, dims, {node, path}, sections);
}

std::optional<EmbeddingPlan> read_embedding(Reader& reader, const Section& model, const Dims& dims, Node& resolved) {
  const Node* node = model.node->find("embedding");
  const std::string path = below(model.path, "embedding");
  if (node == nullptr || spec::is_null(*node)) return {};
  if (!expect_map(reader, *node, path, "a map with vocab_size")) return {};
  Node section = map_node(node->mark);
  const auto keys = read_section<EmbeddingKeys>(reader, embedding_table(), *node, path, section);
  check_position(reader, keys.position, dims, {node, path}, {model});
  set(resolved, "embedding", std::move(section));
  return EmbeddingPlan{keys.vocab_size, keys.position, keys.dropout};
}

/// The encoder's own embedding, or one that shares the matrix of the model's. sections: the encoder, the model.
std::optional<EmbeddingPlan> read_encoder_embedding(Reader& reader, const Sections& sections, const Dims& dims,
                                                    const ModelPlan& model, Node& resolved) {
  const Node* node = sections.front().node->find("embedding");
  const std::string path = below(sections.front().path, "embedding");
  if (node == nullptr || spec::is_null(*node)) return {};
  if (!expect_map(reader, *node, path, "a map with vocab_size, or {tied: true}")) return {};
  Node section = map_node(node->mark);
  const auto problems = reader.problems.size();
  const auto keys = read_section<EncoderEmbeddingKeys>(reader, encoder_embedding_table(), *node, path, section);
  drop_absent(section);
  EmbeddingPlan embedding{keys.vocab_size.value_or(0), keys.position, keys.dropout, keys.tied};
  const Node* own = sections.back().node->find("embedding");
  const auto refuse = [&](const std::string& key, const std::string& message) {
    const Node* value = node->find(key);
    reader.report(value == nullptr ? node->mark : value->mark, below(path, key), message);
  };
  if (reader.problems.size() == problems) {  // of a section with a fault, what is missing is a guess
    if (!keys.tied && !keys.vocab_size) {
      refuse("vocab_size",
             "missing, expected an integer of at least 1: number of token ids; tied: true shares the "
             "matrix of the model's own embedding");
    } else if (keys.tied && keys.vocab_size) {
      refuse("vocab_size", "has no place beside tied: true, which takes that of the model's own embedding");
    } else if (keys.tied && (own == nullptr || spec::is_null(*own))) {
      refuse("tied", "got true, but the model has no embedding to share a matrix with");
    } else if (keys.tied && dims.d_model != model.dims.d_model) {
      refuse("tied", "got true, but the encoder has d_model = " + std::to_string(dims.d_model) +
                         ", and the model's embedding d_model = " + std::to_string(model.dims.d_model));
    }
  }
  if (keys.tied && model.embedding) embedding.vocab_size = model.embedding->vocab_size;
  check_position(reader, keys.position, dims, {node, path}, sections);
  set(resolved, "embedding", std::move(section));
  return embedding;
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
  StackPlan stack{.dims = dims_of(keys, plan.dims, model_keys), .final_norm = keys.final_norm};
  stack.embedding = read_encoder_embedding(reader, {encoder, model}, stack.dims, plan, section);
  stack.blocks = read_layers(reader, {encoder, model}, stack.dims, sizes_sound, section);
  set(resolved, "encoder", std::move(section));
  return stack;
}

/// An encoder that nobody reads, or that hands on another width than is read.
void check_encoder(Reader& reader, const Section& model, const ModelPlan& plan) {
  if (!plan.encoder || plan.blocks.empty()) return;
  const Node* width = model.node->find("d_memory");
  if (!plan.takes_memory()) {
    reader.report(model.node->find("encoder")->mark, below(model.path, "encoder"),
                  "has no effect: no layer of the model reads a memory; give a block a cross_attention");
  }
  if (width != nullptr && !spec::is_null(*width)) {
    reader.report(width->mark, below(model.path, "d_memory"),
                  "has no place beside an encoder, which hands on its own width; leave it out");
  }
}

std::optional<HeadPlan> read_head(Reader& reader, const Node& model, const ModelPlan& plan, Node& resolved) {
  const Node* node = model.find("head");
  const std::string path = "model.head";
  if (node == nullptr || spec::is_null(*node)) return {};
  if (!expect_map(reader, *node, path, "a map, such as {tied: true}")) return {};
  Node section = map_node(node->mark);
  const auto problems = reader.problems.size();
  const auto keys = read_section<HeadKeys>(reader, head_table(), *node, path, section);
  HeadPlan head{.tied = keys.tied, .bias = keys.bias, .d_out = keys.d_out.value_or(0)};
  const bool embedded = model.find("embedding") != nullptr;
  const bool sound = reader.problems.size() == problems;  // of a section with a fault, what is missing is a guess
  if (!sound) return head;
  if (!embedded && keys.tied) {
    reader.report(node->mark, below(path, "tied"), "got true, but the model has no embedding to share a matrix with");
  } else if (!embedded && !keys.d_out) {
    reader.report(node->mark, below(path, "d_out"),
                  "missing: without an embedding there is no vocab_size to take it from");
  } else if (plan.embedding && keys.tied && keys.d_out && *keys.d_out != plan.embedding->vocab_size) {
    reader.report(node->find("d_out")->mark, below(path, "d_out"),
                  "got " + std::to_string(*keys.d_out) + ", but a tied head has the width of the embedding, " +
                      std::to_string(plan.embedding->vocab_size));
  } else if (plan.embedding && keys.tied && plan.d_out != plan.dims.d_model) {
    reader.report(node->mark, below(path, "tied"),
                  "got true, but the last layer hands on width " + std::to_string(plan.d_out) +
                      ", and the embedding has d_model = " + std::to_string(plan.dims.d_model));
  }
  if (plan.embedding && !keys.d_out) head.d_out = plan.embedding->vocab_size;
  set(resolved, "head", std::move(section));
  return head;
}

}  // namespace

ModelPlan read_model(Reader& reader, const Node& node, Node& resolved, const RunPlan& run) {
  ModelPlan plan;
  if (!expect_map(reader, node, "model", "a map")) return plan;
  const Section model{&node, "model"};
  const auto problems = reader.problems.size();
  const auto keys = read_section<ModelKeys>(reader, model_table(), node, "model", resolved);
  const bool sizes_sound = reader.problems.size() == problems;
  plan.dims = dims_of(keys, run);
  plan.final_norm = keys.final_norm;
  plan.embedding = read_embedding(reader, model, plan.dims, resolved);
  plan.encoder = read_encoder(reader, model, keys, plan, sizes_sound, resolved);
  if (plan.encoder) plan.dims.d_memory = plan.encoder->last_dims().d_model;
  plan.blocks = read_layers(reader, {model}, plan.dims, sizes_sound, resolved);
  check_encoder(reader, model, plan);
  plan.d_out = plan.last_dims().d_model;
  plan.head = read_head(reader, node, plan, resolved);
  if (plan.head) plan.d_out = plan.head->d_out;
  return plan;
}

}  // namespace headwright::bind

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
          .d_context = keys.d_context.value_or(keys.d_model),
          .kernel = run.kernel};
}

std::optional<EmbeddingPlan> read_embedding(Reader& reader, const Node& model, const Dims& dims, Node& resolved) {
  const Node* node = model.find("embedding");
  const std::string path = "model.embedding";
  if (node == nullptr || spec::is_null(*node)) return {};
  if (!expect_map(reader, *node, path, "a map with vocab_size")) return {};
  Node section = map_node(node->mark);
  const auto keys = read_section<EmbeddingKeys>(reader, embedding_table(), *node, path, section);
  if (keys.position && node->find("position") != nullptr) {
    const auto& mark = node->find("position")->mark;
    if (!keys.position.variant->claims(dims, keys.position.values).embed) {
      reader.report(
          mark, below(path, "position"),
          "'" + keys.position.variant->name + "' adds nothing to an embedding; it belongs under an attention");
    }
    check_component(reader, keys.position, dims, *node->find("position"), below(path, "position"), model);
  }
  set(resolved, "embedding", std::move(section));
  return EmbeddingPlan{keys.vocab_size, keys.position, keys.dropout};
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
  if (!sound) {
    return head;
  } else if (!embedded && keys.tied) {
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
  const auto problems = reader.problems.size();
  const auto keys = read_section<ModelKeys>(reader, model_table(), node, "model", resolved);
  const bool sizes_sound = reader.problems.size() == problems;
  plan.dims = dims_of(keys, run);
  plan.final_norm = keys.final_norm;
  plan.embedding = read_embedding(reader, node, plan.dims, resolved);
  plan.blocks = read_layers(reader, node, plan.dims, sizes_sound, resolved);
  plan.d_out = plan.blocks.empty() ? plan.dims.d_model : plan.blocks.back().d_out;
  plan.head = read_head(reader, node, plan, resolved);
  if (plan.head) plan.d_out = plan.head->d_out;
  return plan;
}

bool ModelPlan::takes_context() const {
  for (const auto& block : blocks) {
    if (block.claims.context) return true;
  }
  return false;
}

bool ModelPlan::takes_key_mask() const {
  bool any = false;
  for (const auto& block : blocks) {
    if (block.attention && !block.claims.key_mask) return false;
    any |= static_cast<bool>(block.attention);
  }
  return any;
}

}  // namespace headwright::bind

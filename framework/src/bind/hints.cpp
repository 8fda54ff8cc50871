#include "bind/hints.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "bind/tables.h"
#include "support/text.h"

namespace headwright::bind {
namespace {

/// Names of other libraries, and ours. They appear in hints and nowhere else.
constexpr auto kAliases = std::to_array<std::pair<std::string_view, std::string_view>>({
    {"num_heads", "n_heads"},
    {"n_head", "n_heads"},
    {"nhead", "n_heads"},
    {"heads", "n_heads"},
    {"num_attention_heads", "n_heads"},
    {"num_key_value_heads", "n_kv_heads"},
    {"num_kv_heads", "n_kv_heads"},
    {"kv_heads", "n_kv_heads"},
    {"n_query_groups", "n_kv_heads"},
    {"head_dim", "d_head"},
    {"head_size", "d_head"},
    {"n_embd", "d_model"},
    {"hidden_size", "d_model"},
    {"embed_dim", "d_model"},
    {"emb_dim", "d_model"},
    {"dim", "d_model"},
    {"d_in", "d_model"},
    {"width", "d_model"},
    {"n_layer", "layers"},
    {"n_layers", "layers"},
    {"num_layers", "layers"},
    {"num_hidden_layers", "layers"},
    {"depth", "layers"},
    {"block_size", "context_length"},
    {"n_ctx", "context_length"},
    {"n_positions", "context_length"},
    {"max_seq_len", "context_length"},
    {"max_position_embeddings", "context_length"},
    {"intermediate_size", "d_ff"},
    {"ffn_dim", "d_ff"},
    {"n_inner", "d_ff"},
    {"dim_feedforward", "d_ff"},
    {"mlp", "feed_forward"},
    {"ffn", "feed_forward"},
    {"ff", "feed_forward"},
    {"attn", "attention"},
    {"self_attn", "attention"},
    {"cross_attn", "cross_attention"},
    {"encoder_attn", "cross_attention"},
    {"crossattention", "cross_attention"},
    {"type", "name"},
    {"variant", "name"},
    {"kind", "name"},
    {"n_vocab", "vocab_size"},
    {"attention_dropout", "dropout"},
    {"attn_pdrop", "dropout"},
    {"resid_pdrop", "dropout"},
    {"embd_pdrop", "dropout"},
    {"dropout_p", "dropout"},
    {"is_causal", "causal"},
    {"tie_word_embeddings", "tied"},
    {"tie_weights", "tied"},
    {"weight_tying", "tied"},
    {"layer_norm_eps", "eps"},
    {"rms_norm_eps", "eps"},
    {"norm_eps", "eps"},
    {"ln_f", "final_norm"},
    {"lm_head", "head"},
    {"norm_type", "norm"},
    {"pos_emb", "position"},
    {"position_embedding_type", "position"},
    {"torch_dtype", "dtype"},
    {"precision", "dtype"},
    {"inputs", "input"},
    {"input_ids", "tokens"},
    {"attention_mask", "key_mask"},
    {"encoder_hidden_states", "memory"},
    {"document_id", "document_ids"},
    {"segment_ids", "document_ids"},
    {"seq_idx", "document_ids"},
});

bool holds(std::span<const std::string> known, std::string_view key) {
  return std::ranges::find(known, key) != known.end();
}

/// Where a key of the framework stands, other than here. An encoder repeats keys of the model: it is named only where
/// the reader is in one, or where no other place knows the key.
std::string places_of(const std::string& key, const std::string& here) {
  const std::string encoder(encoder_table().name);
  std::vector<std::string> places, of_encoder;
  for (const Table* table : all_tables()) {
    if (table->name == here || !holds(table->keys(), key)) continue;
    auto& found = table->name.starts_with(encoder) ? of_encoder : places;
    found.push_back(table->name.empty() ? "the top level" : std::string(table->name));
  }
  if (places.empty() || (here.starts_with(encoder) && !of_encoder.empty())) places = std::move(of_encoder);
  return places.empty() ? "" : "'" + key + "' belongs under " + support::join(places, " or ");
}

}  // namespace

Hint hint_for(const std::string& key, std::span<const std::string> known, const std::string& path) {
  std::string ours = key;
  for (const auto& [theirs, name] : kAliases) {
    if (theirs == key) ours = name;
  }
  if (holds(known, ours)) return {.suggestion = ours};
  if (auto places = places_of(ours, path); !places.empty()) return {.remark = std::move(places)};
  if (ours == "causal" && holds(known, "mask")) return {.remark = "write mask: causal"};
  if (ours == "mask" && holds(known, "causal")) return {.remark = "write causal: true or false"};
  if (ours == "d_ff" && holds(known, "feed_forward")) return {.remark = "'d_ff' belongs under feed_forward"};
  if (auto near = support::nearest(key, known)) return {.suggestion = *near};
  std::vector<std::string> everywhere;
  for (const Table* table : all_tables()) std::ranges::copy(table->keys(), std::back_inserter(everywhere));
  if (const auto near = support::nearest(key, everywhere)) return {.remark = places_of(*near, path)};
  return {};
}

}  // namespace headwright::bind

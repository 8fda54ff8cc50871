// What a reader is told who writes another library's key: each is put into a config that is resolved.
#include "bind/hints.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "bind/counterparts.h"
#include "bind/tables.h"
#include "helpers/configs.h"

namespace headwright::bind {
namespace {

using test::problems_of;
using test::shipped_plugins;

constexpr auto kModel = R"(name: a
model:
  d_model: 8
  n_heads: 2
  embedding: { vocab_size: 11 }
  blocks:
    only:
      norm: layer_norm
      attention: { name: softmax, position: { name: rope } }
      cross_attention: { name: softmax }
      feed_forward: { name: gelu }
  final_norm: { name: rms_norm }
  head: { tied: false }
run: { seed: 1 }
input: { random: { shape: [1, 2] }, memory: { random: { shape: [1, 3, 8] } } }
)";

/// What stands behind the list of known keys in the error about `path`; "none" = nothing.
std::string hint_at(const std::string& path, const std::string& value = "1") {
  std::istringstream lines(problems_of(kModel, {path + "=" + value}));
  for (std::string line; std::getline(lines, line);) {
    const auto known = line.find(" (known: ");
    if (line.find(" " + path + ": unknown ") == std::string::npos || known == std::string::npos) continue;
    const auto hint = line.substr(line.find(')', known) + 1);
    return hint.empty() ? "none" : hint.substr(2);
  }
  return "no error";
}

std::string block(const std::string& key) { return "model.blocks.only." + key; }
std::string attention(const std::string& key) { return block("attention." + key); }
std::string rope(const std::string& key) { return attention("position." + key); }

struct Row {
  std::string path, hint;
};

void expect_hints(const std::vector<Row>& rows) {
  for (const auto& row : rows) EXPECT_EQ(hint_at(row.path), row.hint) << row.path;
}

TEST(Hints, OfSizes) {
  const std::string heads = "belongs under model or model.blocks.NAME";
  expect_hints({{"model.hidden_size", "did you mean 'd_model'?"},
                {"model.n_embd", "did you mean 'd_model'?"},
                {"model.embed_dim", "did you mean 'd_model'?"},
                {"model.emb_dim", "did you mean 'd_model'?"},
                {"model.dim", "did you mean 'd_model'?"},
                {"hidden_size", "'d_model' belongs under model"},
                {attention("embed_dim"), "'d_model' belongs under model"},
                {"model.num_attention_heads", "did you mean 'n_heads'?"},
                {"model.n_head", "did you mean 'n_heads'?"},
                {"model.nhead", "did you mean 'n_heads'?"},
                {block("num_heads"), "did you mean 'n_heads'?"},
                {attention("num_heads"), "'n_heads' " + heads},
                {"model.num_key_value_heads", "did you mean 'n_kv_heads'?"},
                {"model.num_kv_heads", "did you mean 'n_kv_heads'?"},
                {"model.n_query_groups", "did you mean 'n_kv_heads'?"},
                {"model.attn_kv_heads", "did you mean 'n_kv_heads'?"},
                {attention("num_key_value_heads"), "'n_kv_heads' " + heads},
                {"model.multi_query", "write n_kv_heads: 1"},
                {block("attn_one_kv_head"), "write n_kv_heads: 1"},
                {"model.head_dim", "did you mean 'd_head'?"},
                {"model.head_size", "did you mean 'd_head'?"},
                {"model.attn_dim_head", "did you mean 'd_head'?"},
                {"model.d_kv", "did you mean 'd_head'?"},
                {attention("head_dim"), "'d_head' " + heads},
                {"model.block_size", "did you mean 'context_length'?"},
                {"model.n_ctx", "did you mean 'context_length'?"},
                {"model.n_positions", "did you mean 'context_length'?"},
                {"model.max_seq_len", "did you mean 'context_length'?"},
                {"model.max_position_embeddings", "did you mean 'context_length'?"},
                {rope("max_seq_len"), "'context_length' belongs under model"},
                {"model.padded_vocab_size", "'vocab_size' belongs under model.embedding"},
                {"model.embedding.num_embeddings", "did you mean 'vocab_size'?"},
                {"vocab_size", "'vocab_size' belongs under model.embedding"}});
}

TEST(Hints, OfStructure) {
  const std::string several = "write layers: [{ pattern: [BLOCK, BLOCK], repeat: N }]";
  const std::string feed_forwards = "write feed_forward: gelu, relu or swiglu";
  expect_hints({{"model.n_layer", "did you mean 'layers'?"},
                {"model.num_hidden_layers", "did you mean 'layers'?"},
                {"model.num_layers", "did you mean 'layers'?"},
                {"model.depth", "did you mean 'layers'?"},
                {"model.layer_types", several},
                {"model.sliding_window_pattern", several},
                {block("self_attn"), "did you mean 'attention'?"},
                {block("encoder_attn"), "did you mean 'cross_attention'?"},
                {block("mlp"), "did you mean 'feed_forward'?"},
                {"model.mlp", "'feed_forward' belongs under model.blocks.NAME"},
                {"model.add_cross_attention", "write cross_attention: softmax under model.blocks.NAME"},
                {block("hidden_act"), feed_forwards},
                {"model.hidden_act", feed_forwards + " under model.blocks.NAME"},
                {block("feed_forward.activation_function"), "write name: gelu, relu or swiglu"},
                {block("norm_first"), "write order: pre_norm"},
                {"model.parallel_residual", "write order: parallel under model.blocks.NAME"},
                {"model.use_parallel_residual", "write order: parallel under model.blocks.NAME"},
                {"model.norm_type", "'norm' belongs under model.blocks.NAME"},
                {block("norm_class_name"), "did you mean 'norm'?"},
                {block("use_rmsnorm"), "write norm: rms_norm"},
                {"model.ln_f", "did you mean 'final_norm'?"},
                {"model.lm_head", "did you mean 'head'?"}});
}

TEST(Hints, OfAttentions) {
  const std::string window = "write mask: { window: N }", softcap = "write modifiers: [{ softcap: N }]";
  const std::string everywhere = " under model.blocks.NAME.attention";
  expect_hints({{attention("sliding_window"), window},
                {block("cross_attention.sliding_window"), window},
                {block("sliding_window"), window + " under attention"},
                {"model.sliding_window", window + everywhere},
                {"model.sliding_window_size", window + everywhere},
                {attention("window_size"), window},
                {attention("attention_window"), window},
                {attention("is_causal"), "write mask: causal"},
                {attention("causal"), "write mask: causal"},
                {block("is_causal"), "write mask: causal under attention"},
                {"model.is_decoder", "write mask: causal" + everywhere},
                {attention("attn_logit_softcapping"), softcap},
                {"model.attention_logit_softcapping", softcap + everywhere},
                {attention("query_pre_attn_scalar"), "write scale: 1 / sqrt(N)"},
                {attention("softmax_scale"), "did you mean 'scale'?"},
                {attention("attention_bias"), "did you mean 'qkv_bias'?"},
                {"model.attention_bias", "'qkv_bias' belongs" + everywhere},
                {"model.add_qkv_bias", "'qkv_bias' belongs" + everywhere},
                {"model.qkv_bias", "'qkv_bias' belongs" + everywhere},
                {attention("bias"), "did you mean 'qkv_bias'?"},
                {attention("o_proj_bias"), "did you mean 'out_bias'?"},
                {attention("attn_qk_norm"), "did you mean 'qk_norm'?"},
                {block("use_qk_norm"), "'qk_norm' belongs under attention"},
                {block("kv_lora_rank"), "'d_latent' belongs under attention"},
                {attention("kv_lora_rank"), "none"},  // softmax has no latent
                {attention("attn_talking_heads"), "write name: talking_heads"},
                {attention("attn_dropout"), "did you mean 'dropout'?"},
                {attention("attention_probs_dropout_prob"), "did you mean 'dropout'?"},
                {block("attn_pdrop"), "'dropout' belongs under attention"},
                {block("attn_implementation"), "did you mean 'kernel'?"},
                {"run.attn_implementation", "did you mean 'kernel'?"},
                {"model.attn_implementation", "'kernel' belongs under model.blocks.NAME or run"},
                {attention("use_flash_attn"), "'kernel' belongs under model.blocks.NAME or run"}});
}

TEST(Hints, OfPositions) {
  const std::string everywhere = " under model.blocks.NAME.attention";
  const std::string theta = "write position: { name: rope, theta: N }";
  expect_hints(
      {{attention("rope_theta"), theta},
       {"model.rope_theta", theta + everywhere},
       {"model.rope_base", theta + everywhere},
       {"model.rotary_emb_base", theta + everywhere},
       {attention("rope_scaling"), "write position: { name: rope, scaling: linear, factor: N }"},
       {rope("rope_scaling"), "did you mean 'scaling'?"},
       {rope("rope_type"), "did you mean 'scaling'?"},
       {rope("rope_condense_ratio"), "did you mean 'factor'?"},
       {rope("original_max_position_embeddings"), "did you mean 'original_context_length'?"},
       {"model.partial_rotary_factor", "write position: { name: rope, partial_rotary_factor: N }" + everywhere},
       {"model.rotary_pct", "write position: { name: rope, partial_rotary_factor: N }" + everywhere},
       {attention("rotary_pos_emb"), "write position: rope"},
       {attention("alibi_pos_bias"), "write position: alibi"},
       {"model.alibi", "write position: alibi" + everywhere},
       {attention("relative_attention_num_buckets"), "write position: { name: relative_bias, n_buckets: N }"},
       {"model.embedding.position_embedding_type", "did you mean 'position'?"},
       {"model.use_abs_pos_emb", "write position: learned under model.embedding"}});
}

TEST(Hints, OfFeedForwardsAndNorms) {
  expect_hints({{block("feed_forward.intermediate_size"), "did you mean 'd_ff'?"},
                {block("feed_forward.hidden_dim"), "did you mean 'd_ff'?"},
                {block("intermediate_size"), "'d_ff' belongs under feed_forward"},
                {"model.n_inner", "'d_ff' belongs under model.blocks.NAME.feed_forward"},
                {"model.ffn_hidden_size", "'d_ff' belongs under model.blocks.NAME.feed_forward"},
                {"model.hidden_ratio", "write d_ff: N under model.blocks.NAME.feed_forward"},
                {block("feed_forward.ff_mult"), "write d_ff: N"},
                {block("mlp_bias"), "'bias' belongs under feed_forward"},
                {block("feed_forward.mlp_bias"), "did you mean 'bias'?"},
                {"model.final_norm.rms_norm_eps", "did you mean 'eps'?"},
                {"model.layer_norm_epsilon", "'eps' belongs under model.blocks.NAME.norm"},
                {"model.rms_norm_eps", "'eps' belongs under model.blocks.NAME.norm"},
                {block("norm_eps"), "'eps' belongs under norm"},
                {block("resid_pdrop"), "did you mean 'dropout'?"},
                {"model.hidden_dropout_prob", "'dropout' belongs under model.blocks.NAME"},
                {"model.embd_pdrop", "'dropout' belongs under model.embedding"}});
}

TEST(Hints, OfHeadRunAndInput) {
  expect_hints({{"model.tie_word_embeddings", "'tied' belongs under model.head"},
                {"model.head.tie_weights", "did you mean 'tied'?"},
                {"model.lm_head_bias", "'bias' belongs under model.head"},
                {"model.torch_dtype", "'dtype' belongs under run"},
                {"run.precision", "did you mean 'dtype'?"},
                {"torch_dtype", "'dtype' belongs under run"},
                {"input_ids", "'tokens' belongs under input"},
                {"input.attention_mask", "did you mean 'key_mask'?"},
                {"input.encoder_hidden_states", "did you mean 'memory'?"},
                {"input.segment_ids", "did you mean 'document_ids'?"},
                {attention("key_mask"), "'key_mask' belongs under input"},
                {"input.batch_size", "write shape: [batch, seq] or [batch, seq, width] under input.random"},
                {"model.use_cache", "has no counterpart: it changes no result"},
                {"model.pretraining_tp", "has no counterpart: it changes no result"},
                {"model.fuse_norm", "has no counterpart: it changes no result"}});
  EXPECT_THAT(hint_at("model.initializer_range"), testing::StartsWith("has no counterpart: "));
  EXPECT_THAT(hint_at("model.bos_token_id"), testing::StartsWith("has no counterpart: "));
}

TEST(Hints, OfNamesThatHeadwrightHadBefore) {
  expect_hints({{"input.context", "did you mean 'memory'?"},
                {"model.d_context", "did you mean 'd_memory'?"},
                {"input.memory.context_mask", "did you mean 'key_mask'?"}});
}

/// A word that some far section knows, or nearly, says nothing about this one.
TEST(Hints, SendNobodyToAnUnrelatedSection) {
  const std::vector<std::string> words{"shape",  "shap",  "scales", "thetas", "file",   "files",   "tensor", "tensors",
                                       "values", "value", "use",    "uses",   "repeat", "repeats", "seeds",  "tie"};
  for (const auto& section : {"model.embedding", "model.final_norm", "model.blocks.only.attention",
                              "model.blocks.only.attention.position", "model.blocks.only.feed_forward"}) {
    for (const auto& word : words) {
      const auto hint = hint_at(section + ("." + word));
      EXPECT_EQ(hint.find("belongs under"), std::string::npos) << section << "." << word << ": " << hint;
    }
  }
  expect_hints({{"model.embedding.shap", "none"}, {block("feed_forward.tie"), "none"}});
}

/// Ours of each row, where the row says that it stands.
bool exists(std::string_view at, std::string_view ours) {
  const auto key = ours.substr(0, ours.find(':'));
  for (const Table* table : all_tables()) {
    const auto keys = table->keys();
    if ((at == table->name || at == place::kWhereKnown) && std::ranges::find(keys, key) != keys.end()) return true;
  }
  const auto component = at.substr(at.find_last_of('.') + 1);  // "model.head" -> "head"
  for (const auto* variant : shipped_plugins().all()) {
    if (at != place::kWhereKnown && component != to_string(variant->kind)) continue;
    if (key == "name" || std::ranges::find(variant->params, key, &ParamSpec::name) != variant->params.end())
      return true;
  }
  return false;
}

TEST(Hints, NameOnlyWhatIsThere) {
  std::set<std::string_view> keys;
  for (const auto& row : counterparts()) {
    keys.insert(row.theirs);
    if (row.at == place::kNowhere) continue;
    EXPECT_TRUE(exists(row.at, row.ours)) << row.theirs << " -> " << row.ours << " under " << row.at;
  }
  EXPECT_GE(keys.size(), 150U);
}

}  // namespace
}  // namespace headwright::bind

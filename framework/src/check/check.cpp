// The table of properties: what each asks, of which variants, and the function that finds out.
#include "check/check.h"

#include <algorithm>
#include <array>
#include <exception>
#include <optional>

#include "check/properties.h"
#include "core/kernels/kernel.h"
#include "headwright/errors.h"

namespace headwright::check {
namespace {

struct Row {
  const char* name;
  const char* promise;  // what is asked
  bool (*asked)(const Subject&);
  std::string (*run)(const Subject&);
};

bool always(const Subject&) { return true; }
/// In a few tokens not everything can show.
bool has_tokens(const Subject& subject) { return subject.many() >= 16; }
bool is_attention(const Subject& subject) { return subject.variant.kind == Kind::attention; }
bool is_position(const Subject& subject) { return subject.variant.kind == Kind::position; }
/// Whose sizes a position reads is up to the attention that holds it.
bool claims_sizes(const Subject& subject) { return !is_position(subject); }
bool claims_causal(const Subject& subject) { return is_attention(subject) && subject.claims.causal; }
bool claims_key_mask(const Subject& subject) { return is_attention(subject) && subject.claims.key_mask; }
/// Padding moves the end of a memory, which the masks of cross-attention are aligned to, draws a random mask anew, and
/// counts for a position that depends on the length.
bool claims_padding(const Subject& subject) {
  const auto moves = [&](const auto& item) {
    const auto* component = std::get_if<Component>(&item.second.data);
    if (component != nullptr && *component) {
      return component->variant->claims(subject.dims, component->values).by_length;
    }
    const auto* mask = std::get_if<Mask>(&item.second.data);
    return mask != nullptr && (subject.claims.memory ? !mask->sees_everything() : mask->reads_length());
  };
  return claims_key_mask(subject) && std::ranges::none_of(subject.values, moves);
}
bool claims_documents(const Subject& subject) {
  return is_attention(subject) && subject.claims.document_ids && !subject.claims.memory;
}
bool on_the_core(const Subject& subject) { return is_attention(subject) && subject.claims.core; }
bool claims_cache(const Subject& subject) { return is_attention(subject) && subject.claims.cache; }
bool claims_gradient(const Subject& subject) { return subject.claims.differentiable; }
bool has_dropout(const Subject& subject) {
  return subject.row("dropout", ParamType::number) != nullptr && subject.with_dropout().kernel_obstacle(true).empty();
}
/// A forced kernel may be one that no export can hold. A tied embedding stands in an encoder, beside a model's own.
bool can_be_exported(const Subject& subject) {
  if (subject.variant.kind == Kind::embedding && subject.claims.tied) return false;
  return !subject.claims.core || std::ranges::none_of(core::kernels(), [&](const auto& kernel) {
    return kernel->name() == subject.dims.kernel && !kernel->exportable();
  });
}
/// A row `window_size` is a window where the variant is causal; a window mask is one whatever the mask is now.
bool takes_window(const Subject& subject) {
  if (!is_attention(subject) || subject.claims.memory) return false;
  const bool by_size = subject.claims.causal && subject.row("window_size", ParamType::integer) != nullptr;
  return by_size || subject.row("mask", ParamType::mask) != nullptr;
}
bool has_heads(const Subject& subject) { return is_attention(subject) && groups_heads(subject); }
/// A bias changes scores, which later keys are a part of.
bool gives_each_token(const Subject& subject) { return is_position(subject) && !subject.claims.bias; }
bool takes_positions(const Subject& subject) {
  const bool stem = subject.variant.kind == Kind::embedding && subject.per_token();
  return stem || (is_attention(subject) && !subject.claims.memory);
}
bool per_token(const Subject& subject) {
  return !is_attention(subject) && !is_position(subject) && subject.per_token();
}

constexpr std::array kRows{
    Row{"documented", "a summary, a source, and a phrase for every parameter", always, documented},
    Row{"options", "every parameter that is accepted changes something", has_tokens, every_option_does_something},
    Row{"sizes", "it reads the sizes that it claims to read, and no other", claims_sizes, sizes_read},
    Row{"parameters", "every value is refused or works", always, every_value_is_refused_or_works},
    Row{"shape", "(batch, seq, d_out) at several sizes", always, shape},
    Row{"nothing", "of 0 tokens or 0 rows comes an empty output, or a message", always, nothing},
    Row{"finite", "no NaN, no infinity", always, finite},
    Row{"deterministic", "two calls in eval are bit-equal, with dropout 0.5", always, deterministic_in_eval},
    Row{"dropout", "two calls in training differ, with dropout 0.5", has_dropout, dropout_in_training},
    Row{"batch_rows", "a row of a batch equals the same row alone", always, batch_rows_independent},
    Row{"causal", "no output depends on a later token", claims_causal, causal},
    Row{"key_mask", "hidden tokens do not influence visible ones", claims_key_mask, key_mask},
    Row{"padding", "hidden tokens behind a sequence change nothing", claims_padding, padding},
    Row{"empty_rows", "a row that sees nothing is finite and reads nothing, its gradients finite", claims_key_mask,
        empty_rows},
    Row{"documents", "each document of a pack as if it stood alone", claims_documents, documents},
    Row{"window", "with a window of W the last token sees W keys, itself included", takes_window, window},
    Row{"mask", "it reads no token that its mask() hides", is_attention, mask_told},
    Row{"heads", "query head h reads kv head h // (n_heads / n_kv_heads)", has_heads, heads},
    Row{"kernels", "every kernel that can express it gives the same, gradients too", on_the_core, kernels},
    Row{"cache", "a sequence fed piece by piece equals the same sequence at once", claims_cache, cached},
    Row{"tokens", "each token on its own", per_token, tokens_independent},
    Row{"positions", "the output follows the positions that are given", is_position, positions_followed},
    Row{"growing", "what a token gets stays as the sequence grows, but for by_length", gives_each_token,
        kept_as_it_grows},
    Row{"positions", "it follows positions that are given where it claims to", takes_positions, positions_taken},
    Row{"gradients", "equal to central differences in float64", claims_gradient, gradients},
    Row{"dtypes", "float64, float32, bfloat16 and float16 stay what they are, and near float64", always, dtypes},
    Row{"export", "the exported form equals the running one at other sizes", can_be_exported, exported},
    Row{"state", "parameters and buffers are all of the state", always, state_round_trip},
};

template <class Ask>
Property caught(const std::string& name, Ask ask) try {
  return ask();
} catch (const ResourceError&) {
  throw;  // too little memory for the sizes that were asked for says nothing about the variant
} catch (const std::exception& error) {
  return {name, false, "threw: " + message_of(error)};
} catch (...) {
  return {name, false, "threw something that is no exception"};
}

Property ask(const Row& row, const Subject& subject) {
  return caught(row.name, [&]() -> Property {
    const auto fault = row.run(subject);
    return {row.name, fault.empty(), fault.empty() ? row.promise : fault};
  });
}

}  // namespace

std::vector<Property> run_checks(const VariantSpec& variant, const Dims& dims, const ParamMap& values) {
  std::optional<Subject> subject;
  std::vector<Property> properties{caught("claims", [&]() -> Property {
    subject.emplace(variant, dims, values);
    return {"claims", true, "the variant says what it promises"};
  })};
  if (!subject) return properties;
  for (const auto& row : kRows) {
    if (row.asked(*subject)) properties.push_back(ask(row, *subject));
  }
  return properties;
}

std::vector<std::string> not_asked(const VariantSpec& variant, const Dims& dims, const ParamMap& values) {
  std::vector<std::string> names;
  if (variant.kind != Kind::attention) return names;
  const Subject subject(variant, dims, values);
  for (const auto& row : kRows) {
    const bool of_positions = row.asked == is_position || row.asked == gives_each_token;
    if (row.asked != per_token && !of_positions && !row.asked(subject)) names.emplace_back(row.name);
  }
  return names;
}

}  // namespace headwright::check

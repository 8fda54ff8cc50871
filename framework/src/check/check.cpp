#include "check/check.h"

#include <exception>

#include "check/properties.h"

namespace headwright::check {
namespace {

struct Row {
  const char* name;
  const char* promise;  // what is asked
  bool (*asked)(const Subject&);
  std::string (*run)(const Subject&);
};

bool always(const Subject&) { return true; }
bool is_attention(const Subject& subject) { return subject.variant.kind == Kind::attention; }
bool is_position(const Subject& subject) { return subject.variant.kind == Kind::position; }
bool claims_causal(const Subject& subject) { return is_attention(subject) && subject.claims.causal; }
bool claims_key_mask(const Subject& subject) { return is_attention(subject) && subject.claims.key_mask; }
bool claims_gradient(const Subject& subject) { return subject.claims.differentiable; }
bool per_token(const Subject& subject) { return !is_attention(subject) && !is_position(subject); }

const Row kRows[] = {
    {"documented", "a summary, a source, and a phrase for every parameter", always, documented},
    {"parameters", "every value is refused or works", always, every_value_is_refused_or_works},
    {"shape", "(batch, seq, d_out) at several sizes", always, shape},
    {"finite", "no NaN, no infinity", always, finite},
    {"deterministic", "two calls in eval are bit-equal, with dropout 0.5", always, deterministic_in_eval},
    {"batch_rows", "a row of a batch equals the same row alone", always, batch_rows_independent},
    {"causal", "no output depends on a later token", claims_causal, causal},
    {"key_mask", "hidden tokens do not influence visible ones", claims_key_mask, key_mask},
    {"empty_rows", "a row that sees nothing is finite, and its gradients too", claims_key_mask, empty_rows},
    {"tokens", "each token on its own", per_token, tokens_independent},
    {"positions", "the output follows the positions that are given", is_position, positions_followed},
    {"gradients", "equal to central differences in float64", claims_gradient, gradients},
    {"dtypes", "float64, float32, bfloat16 and float16 stay what they are", always, dtypes},
    {"state", "parameters and buffers are all of the state", always, state_round_trip},
};

Property ask(const Row& row, const Subject& subject) try {
  const auto fault = row.run(subject);
  return {row.name, fault.empty(), fault.empty() ? row.promise : fault};
} catch (const std::exception& error) {
  return {row.name, false, "threw: " + message_of(error)};
}

}  // namespace

std::vector<Property> run_checks(const VariantSpec& variant, const Dims& dims, const ParamMap& values) {
  const Subject subject(variant, dims, values);
  std::vector<Property> properties;
  for (const auto& row : kRows) {
    if (row.asked(subject)) properties.push_back(ask(row, subject));
  }
  return properties;
}

}  // namespace headwright::check

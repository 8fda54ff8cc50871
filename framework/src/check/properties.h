// The properties: each a function that says how it does not hold; empty = it holds.
#pragma once
#include <string>
#include <vector>

#include "check/subject.h"

namespace headwright::check {

// outputs.cpp
std::string shape(const Subject& subject);
std::string nothing(const Subject& subject);
bool makes_of_nothing(const Subject& subject, torch::nn::Module& module, const Inputs& inputs);  // and does not refuse
std::string finite(const Subject& subject);
std::string deterministic_in_eval(const Subject& subject);
std::string dropout_in_training(const Subject& subject);
std::string batch_rows_independent(const Subject& subject);
std::string dtypes(const Subject& subject);
std::string kernels(const Subject& subject);
std::string state_round_trip(const Subject& subject);

/// The inputs, of 3 rows, with a key mask where one is claimed: row 0 sees all, row 1 a half, row 2 nothing.
Inputs with_masks(const Subject& subject, Inputs inputs);

// tokens.cpp
std::string causal(const Subject& subject);
std::string key_mask(const Subject& subject);
std::string padding(const Subject& subject);
std::string empty_rows(const Subject& subject);
std::string window(const Subject& subject);
std::string mask_told(const Subject& subject);
std::string tokens_independent(const Subject& subject);
std::string positions_followed(const Subject& subject);
std::string kept_as_it_grows(const Subject& subject);

// documents.cpp
std::string documents(const Subject& subject);

/// Document ids of 3 rows: they begin in the middle; at a third, so that a document goes on in the next chunk; and at
/// the second token and where a chunk begins, or at the last token.
at::Tensor packed_documents(std::int64_t length);

// heads.cpp
bool groups_heads(const Subject& subject);  // it takes fewer kv heads than heads, and both forms correspond
std::string heads(const Subject& subject);
// cached.cpp
std::string cached(const Subject& subject);

// gradients.cpp
std::string gradients(const Subject& subject);

// exported.cpp
std::string exported(const Subject& subject);

// options.cpp
std::string sizes_read(const Subject& subject);
std::string every_option_does_something(const Subject& subject);
std::string positions_taken(const Subject& subject);

/// The parameters of which some value is accepted, and none that is changes anything.
std::vector<std::string> without_effect(const Subject& subject);

// parameters.cpp
std::string documented(const Subject& subject);
std::vector<Value> candidates(const ParamSpec& row);  // around the edges of what it takes, on both sides
std::string every_value_is_refused_or_works(const Subject& subject);
bool is_refused(const Subject& subject, const ParamSpec& row, const Value& value);  // by its limits or by check()

}  // namespace headwright::check

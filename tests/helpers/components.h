// The components that shipped configs use, and variants with their defaults, for tests that run over all of them.
#pragma once
#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "bind/walk.h"
#include "helpers/configs.h"

namespace headwright::test {

inline constexpr std::int64_t kVocabSize = 11;

/// A component where some config uses it.
struct Use {
  std::string where;  // "configs/models/gpt2_small.yaml: softmax"
  Component component;
  Dims dims;
};

inline std::vector<Use> uses_in(const std::filesystem::path& config) {
  const auto plan = bind::resolve(spec::load(config), shipped_plugins());
  const auto where = config.lexically_relative(HEADWRIGHT_SOURCE_DIR).string() + ": ";
  std::vector<Use> uses;
  for (const auto& place : bind::walk(plan.model)) {
    uses.push_back({where + place.component->variant->name, *place.component, *place.dims});
    auto& use = uses.back();
    use.dims.layer = 0;  // layers of one block differ in nothing else
    // A table of many rows is slow to look through, and no row differs from another
    use.dims.vocab_size = std::min(use.dims.vocab_size, kVocabSize);
    for (auto& [name, value] : use.component.values) {
      if (name == "vocab_size" && std::holds_alternative<std::int64_t>(value.data)) value = {kVocabSize};
    }
  }
  return uses;
}

/// Small sizes that every shipped variant takes.
inline Dims small_dims() {
  return {.d_model = 8, .n_heads = 2, .n_kv_heads = 2, .d_head = 4, .context_length = 160, .vocab_size = kVocabSize};
}

/// Every row at its default; a row that must be given, or that the variant's check misses, gets a small value.
inline ParamMap default_values(const VariantSpec& variant) {
  ParamMap values;
  for (const auto& row : variant.params) {
    auto value = row.default_value;
    if (row.limits.required && row.type == ParamType::integer) value = {std::int64_t{4}};
    values.emplace_back(row.name, value);
  }
  Issues missing;
  variant.check(small_dims(), values, missing);
  for (const auto& item : missing.items()) {
    for (auto& [name, value] : values) {
      if (name == item.name && item.message.starts_with("missing")) value = {kVocabSize};
    }
  }
  return values;
}

}  // namespace headwright::test

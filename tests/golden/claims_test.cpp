// What the shipped variants claim, in one table: a promise that is dropped shows here.
#include <gtest/gtest.h>

#include <set>

#include "helpers/approved.h"
#include "helpers/components.h"

namespace headwright {
namespace {

std::string claims_text(const Claims& claims) {
  std::string text;
  const auto add = [&](bool claimed, const std::string& word) {
    if (claimed) text += (text.empty() ? "" : " ") + word;
  };
  for (const auto& row : claim_rows()) add(claims.*row.member, row.name);
  add(claims.d_out > 0, "d_out=" + std::to_string(claims.d_out));
  add(!claims.cost.empty(), claims.cost);
  return text;
}

std::string with_defaults() {
  std::string table = "# kind, variant: claims with defaults at d_model 8, n_heads 2\n";
  for (const auto* variant : test::shipped_plugins().all()) {
    table += std::string(to_string(variant->kind)) + ", " + variant->name + ": " +
             claims_text(variant->claims(test::small_dims(), test::default_values(*variant))) + "\n";
  }
  return table;
}

/// A variant with options that decide about causality, caches, memories and documents.
std::string with_masks_and_memories() {
  std::string table = "\n# variant, option: the same with one option changed\n";
  for (const std::string name :
       {"softmax", "differential", "latent", "sigmoid", "top_k", "additive", "multiplicative", "talking_heads"}) {
    const auto* variant = test::shipped_plugins().find(name);
    const auto add = [&](const std::string& option, const std::string& row, const Value& value) {
      auto values = test::default_values(*variant);
      bool takes = false;
      for (auto& [known, old] : values) {
        if (known != row) continue;
        old = value;
        takes = true;
      }
      if (takes) table += name + ", " + option + ": " + claims_text(variant->claims(test::small_dims(), values)) + "\n";
    };
    add("mask causal", "mask", {Mask::causal()});
    add("mask document", "mask", {Mask::document()});
    add("mask causal and document", "mask", {Mask::all({Mask::causal(), Mask::document()})});
    add("cross", "cross", {true});
  }
  return table;
}

/// Layers of a config that claim the same are one line.
std::string in_shipped_configs() {
  std::string table = "\n# config: component: claims as it is used there\n";
  std::set<std::string> lines;
  for (const auto& config : test::shipped_configs()) {
    for (const auto& use : test::uses_in(config)) {
      const auto line =
          use.where + ": " + claims_text(use.component.variant->claims(use.dims, use.component.values)) + "\n";
      if (lines.insert(line).second) table += line;
    }
  }
  return table;
}

TEST(Claims, OfTheShippedVariantsAreTheOnesInTheTable) {
  test::expect_approved(with_defaults() + with_masks_and_memories() + in_shipped_configs(),
                        HEADWRIGHT_SOURCE_DIR "/tests/golden/claims.txt");
}

}  // namespace
}  // namespace headwright

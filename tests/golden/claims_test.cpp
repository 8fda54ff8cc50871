// What the shipped variants claim, in one table: a promise that is dropped shows here.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "helpers/components.h"

namespace headwright {
namespace {

std::string claims_text(const Claims& claims) {
  std::string text;
  const auto add = [&](bool claimed, const std::string& word) {
    if (claimed) text += (text.empty() ? "" : " ") + word;
  };
  add(claims.causal, "causal");
  add(claims.context, "context");
  add(claims.key_mask, "key_mask");
  add(claims.differentiable, "differentiable");
  add(claims.dynamic_export, "dynamic_export");
  add(claims.core, "core");
  add(claims.embed, "embed");
  add(claims.rotate, "rotate");
  add(claims.bias, "bias");
  add(claims.cache, "cache");
  add(claims.document_ids, "document_ids");
  add(claims.d_out > 0, "d_out=" + std::to_string(claims.d_out));
  add(!claims.cost.empty(), claims.cost);
  return text;
}

std::string whole(const std::string& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

TEST(Claims, OfTheShippedVariantsAreTheOnesInTheTable) {
  auto& plugins = test::shipped_plugins();
  std::string table = "# kind, variant: claims with defaults at d_model 8, n_heads 2, context_length 16\n";
  for (const auto* variant : plugins.all()) {
    table += std::string(to_string(variant->kind)) + ", " + variant->name + ": " +
             claims_text(variant->claims(test::small_dims(), test::default_values(*variant))) + "\n";
  }
  const std::string golden = HEADWRIGHT_SOURCE_DIR "/tests/golden/claims.txt";
  if (std::getenv("HEADWRIGHT_ACCEPT") != nullptr) std::ofstream(golden) << table;
  EXPECT_EQ(table, whole(golden)) << "if this is meant: HEADWRIGHT_ACCEPT=1 build/tests/golden";
}

}  // namespace
}  // namespace headwright

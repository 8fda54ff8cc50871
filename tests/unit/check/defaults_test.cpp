// The kit on a variant whose defaults are masks, modifiers, a named component, and a number or a name.
#include <gtest/gtest.h>

#include "check/check.h"
#include "check/settings.h"
#include "registry/registry.h"

namespace headwright {
namespace {

TEST(CheckDefaults, AreLookedUpAndHold) {
  registry::Registry fixtures({.search_path = {HEADWRIGHT_BUILD_DIR "/tests/plugins/defaults"},
                               .probe = HEADWRIGHT_BUILD_DIR "/runner",
                               .cache_folder = HEADWRIGHT_BUILD_DIR "/tests/cache"});
  const auto* variant = fixtures.find("rich_defaults");
  ASSERT_NE(variant, nullptr);
  for (const std::string scale : {"sqrt_d_model", "one", "22.6"}) {
    const auto settings = check::read_settings(*variant, fixtures, {"scale=" + scale});
    EXPECT_TRUE(std::get<Component>(find(settings.values, "norm")->data));
    for (const auto& property : check::run_checks(*variant, settings.dims, settings.values)) {
      EXPECT_TRUE(property.passed) << scale << ", " << property.name << ": " << property.detail;
    }
  }
}

}  // namespace
}  // namespace headwright

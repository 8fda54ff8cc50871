// The variants that README.md and plugins/README.md show keep their promises like any other.
#include <gtest/gtest.h>

#include "check/check.h"
#include "helpers/components.h"

namespace headwright {
namespace {

TEST(Tutorial, ItsVariantsKeepTheirPromises) {
  registry::Registry plugins({.search_path = {HEADWRIGHT_BUILD_DIR "/tests/tutorial"},
                              .probe = HEADWRIGHT_BUILD_DIR "/runner",
                              .cache_folder = {}});
  ASSERT_EQ(plugins.all().size(), 2U);
  for (const auto* variant : plugins.all()) {
    SCOPED_TRACE(variant->name);
    for (const auto& property : check::run_checks(*variant, test::small_dims(), test::default_values(*variant))) {
      EXPECT_TRUE(property.passed) << property.name << ": " << property.detail;
    }
  }
}

}  // namespace
}  // namespace headwright

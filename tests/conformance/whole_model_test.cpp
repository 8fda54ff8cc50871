// Every shipped config whose layers claim a cache goes on from it: token by token, in pieces, padded, packed,
// reordered.
#include "check/whole_model.h"

#include <gtest/gtest.h>

#include "helpers/configs.h"
#include "model/build.h"
#include "spec/load.h"

namespace headwright {
namespace {

TEST(WholeModels, ContinueFromTheirCache) {
  std::size_t with_cache = 0;
  for (const auto& config : test::shipped_configs()) {
    const auto plan = bind::resolve(spec::load(config), test::shipped_plugins());
    if (!model::claims_cache(plan.model)) continue;
    EXPECT_EQ(check::continues_from_its_cache(plan), "") << config;
    ++with_cache;
  }
  EXPECT_GE(with_cache, 20U);
}

}  // namespace
}  // namespace headwright

// Whatever a component throws becomes an error that says whose it is.
#include "model/call_component.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>

#include <new>

#include "headwright/errors.h"
#include "helpers/temporary_folder.h"

namespace headwright::model {
namespace {

struct OfItsOwn {};

template <class Thrown>
std::string message_when_thrown(const Thrown& thrown) {
  return test::message_of<PluginError>(
      // NOLINTNEXTLINE(bugprone-std-exception-baseclass): what a plugin ought not to throw
      [&] { call_component("blocks.0.attention", "odd", [&]() -> at::Tensor { throw thrown; }); });
}

TEST(CallComponent, NamesLayerAndVariantWhateverIsThrown) {
  const std::string where = "blocks.0.attention: 'odd' failed in forward: ";
  EXPECT_EQ(message_when_thrown(42), where + "threw something that is no std::exception");
  EXPECT_EQ(message_when_thrown(OfItsOwn{}), where + "threw something that is no std::exception");
  EXPECT_EQ(message_when_thrown(std::runtime_error("no luck")), where + "no luck");
  EXPECT_EQ(message_when_thrown(ShapeError("[attend] q: got (1,)")), where + "[attend] q: got (1,)");
  EXPECT_EQ(message_when_thrown(InputError("not mine")), where + "not mine");
  EXPECT_EQ(message_when_thrown(PluginError("unnamed")), where + "unnamed");
}

TEST(CallComponent, LeavesOutTheBacktraceOfTorch) {
  const auto message = test::message_of<PluginError>(
      [] { call_component("head", "odd", [] { return at::ones({2, 3}).matmul(at::ones({2, 3})); }); });
  EXPECT_THAT(message, testing::StartsWith("head: 'odd' failed in forward: "));
  EXPECT_EQ(message.find("frame #"), std::string::npos) << message;
}

TEST(CallComponent, TooLittleMemoryIsNotThePluginsFault) {
  EXPECT_EQ(
      test::message_of<ResourceError>([] { call_component("a", "odd", []() -> int { throw std::bad_alloc(); }); }),
      "a: 'odd' failed in forward: out of memory");
}

TEST(CallComponent, TheInnermostComponentIsBlamed) {
  const auto message = test::message_of<PluginError>(
      // NOLINTNEXTLINE(bugprone-std-exception-baseclass)
      [] { call_component("outer", "one", [] { return call_component("inner", "two", []() -> int { throw 7; }); }); });
  EXPECT_THAT(message, testing::StartsWith("inner: 'two' failed in forward"));
}

TEST(CallComponent, GivesWhatTheCallGives) {
  int held = 3;
  int& same = call_component("a", "b", [&]() -> int& { return held; });
  EXPECT_EQ(&same, &held);
}

}  // namespace
}  // namespace headwright::model

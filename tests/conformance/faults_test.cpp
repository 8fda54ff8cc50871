// Each property of the conformance kit fails for the fault it is there to find, and all hold where there is none.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "check/check.h"
#include "conformance/faulty.h"
#include "helpers/components.h"

namespace headwright {
namespace {

using ::testing::Contains;
using testing::Fault;
using testing::Faulty;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

template <class Variant>
std::vector<check::Property> checked() {
  const auto spec = spec_of<Variant>("faulty");
  return check::run_checks(spec, test::small_dims(), test::default_values(spec));
}

std::vector<std::string> failed(const std::vector<check::Property>& properties) {
  std::vector<std::string> names;
  for (const auto& property : properties) {
    if (!property.passed) names.push_back(property.name + ": " + property.detail);
  }
  return names;
}

template <Fault fault>
void expect_found(const std::string& finding) {
  EXPECT_THAT(failed(checked<Faulty<fault>>()), Contains(HasSubstr(finding)));
}

TEST(ConformanceKit, PassesWhatHoldsItsPromises) {
  EXPECT_THAT(failed(checked<Faulty<Fault::none>>()), IsEmpty());
  EXPECT_THAT(failed(checked<testing::Turns<false>>()), IsEmpty());
}

TEST(ConformanceKit, NamesTheFirstLeakingPositionOfAFalselyCausalVariant) {
  expect_found<Fault::leaks_future>("causal: first leak: the output at position 0 depends on the later token 1");
}

TEST(ConformanceKit, FindsNanWhereARowSeesNothing) {
  expect_found<Fault::nan_on_empty_rows>("empty_rows: a row that sees nothing gives NaN");
}

TEST(ConformanceKit, FindsAHiddenTokenThatIsRead) {
  expect_found<Fault::ignores_key_mask>("key_mask: a hidden token influences the output of a visible one");
}

TEST(ConformanceKit, FindsDropoutInEval) {
  expect_found<Fault::drops_in_eval>("deterministic: two calls in eval differ");
}

TEST(ConformanceKit, FindsRowsOfABatchThatMix) {
  expect_found<Fault::mixes_batch_rows>("batch_rows: row 0 of a batch");
}

TEST(ConformanceKit, FindsWrongAndMissingGradients) {
  expect_found<Fault::wrong_gradient>("gradients: gradient of x: got");
  expect_found<Fault::no_gradient>("gradients: the output carries no gradient");
}

TEST(ConformanceKit, FindsAnOutputOfAnotherWidthThanClaimed) {
  expect_found<Fault::wrong_width>("shape: got (2, 7, 7), expected (2, 7, 8)");
}

TEST(ConformanceKit, FindsNumbersThatAreNotFinite) { expect_found<Fault::divides_by_zero>("finite: NaN or infinity"); }

TEST(ConformanceKit, FindsAnOutputThatLeavesItsDtype) {
  expect_found<Fault::leaves_dtype>("dtypes: Double goes in, Float comes out");
}

TEST(ConformanceKit, FindsAnExportThatIsRightAtOneLengthOnly) {
  expect_found<Fault::bakes_its_length>("export: blocks.0.attention");
}

TEST(ConformanceKit, FindsStateThatIsNoParameterAndNoBuffer) {
  expect_found<Fault::hidden_state>("state: with the same parameters and buffers");
}

TEST(ConformanceKit, FindsAValueThatIsNeitherRefusedNorWorks) {
  expect_found<Fault::takes_any_width>("parameters: d_key = -1 is not refused, and fails");
}

TEST(ConformanceKit, FindsAParameterWithoutADoc) {
  expect_found<Fault::undocumented>("documented: parameter 'd_key': it has no doc phrase");
}

TEST(ConformanceKit, FindsAFeedForwardThatMixesTokens) {
  EXPECT_THAT(failed(checked<testing::MixesTokens>()), Contains("tokens: the output at position 1 depends on token 0"));
}

TEST(ConformanceKit, FindsAPositionThatCountsOnItsOwn) {
  EXPECT_THAT(failed(checked<testing::Turns<true>>()), Contains(HasSubstr("positions: a token at a given position")));
}

TEST(ConformanceKit, SurvivesAVariantThatThrows) {
  expect_found<Fault::throws_when_asked>("claims: threw something that is no exception");
}

TEST(ConformanceKit, AsksOnlyWhatIsClaimed) {
  std::vector<std::string> asked;
  for (const auto& property : checked<testing::MixesTokens>()) asked.push_back(property.name);
  EXPECT_THAT(asked, Contains("tokens"));
  for (const auto* name : {"causal", "key_mask", "empty_rows", "positions"}) EXPECT_THAT(asked, Not(Contains(name)));
}

}  // namespace
}  // namespace headwright

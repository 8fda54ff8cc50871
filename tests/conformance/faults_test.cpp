// Each property of the conformance kit fails for the fault it is there to find, and all hold where there is none.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "check/check.h"
#include "helpers/components.h"

namespace headwright {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

/// The fixture library that holds a variant for each fault.
std::vector<check::Property> checked(const std::string& variant) {
  static const registry::Registry plugins({.search_path = {HEADWRIGHT_BUILD_DIR "/tests/plugins/faulty"},
                                           .probe = HEADWRIGHT_BUILD_DIR "/runner",
                                           .cache_folder = {}});
  const auto* spec = plugins.find(variant);
  if (spec == nullptr) throw std::runtime_error(variant + ": not in the fixture library");
  return check::run_checks(*spec, test::small_dims(), test::default_values(*spec));
}

std::vector<std::string> failed(const std::vector<check::Property>& properties) {
  std::vector<std::string> names;
  for (const auto& property : properties) {
    if (!property.passed) names.push_back(property.name + ": " + property.detail);
  }
  return names;
}

void expect_found(const std::string& variant, const std::string& finding) {
  EXPECT_THAT(failed(checked(variant)), Contains(HasSubstr(finding)));
}

TEST(ConformanceKit, PassesWhatHoldsItsPromises) {
  for (const auto* variant :
       {"no_fault", "grouped", "turns", "shifts", "mean", "document_mean", "masked", "says_what_is_so"})
    EXPECT_THAT(failed(checked(variant)), IsEmpty());
}

TEST(ConformanceKit, FindsWhatAVariantSaysOfItselfAndDoesNot) {
  expect_found("ignores_an_option", "options: no value that is accepted changes anything: gain");
  expect_found("drops_its_mask", "options: no value that is accepted changes anything: mask");
  expect_found("reads_no_size", "sizes: n_heads is claimed to be read, and changes nothing");
  expect_found("reads_what_it_hides", "mask: the output at position 2 reads token 0, which mask() = window(2) hides");
  expect_found("follows_no_positions", "positions: it claims positions, and follows none");
  expect_found("counts_backwards", "growing: what a token gets depends on the tokens after it");
}

TEST(ConformanceKit, NamesTheFirstLeakingPositionOfAFalselyCausalVariant) {
  expect_found("leaks_future", "causal: first leak: the output at position 0 depends on the later token 1");
}

TEST(ConformanceKit, FindsNanWhereARowSeesNothing) {
  expect_found("nan_on_empty_rows", "empty_rows: a row that sees nothing gives NaN");
}

TEST(ConformanceKit, FindsTheMeanOfAllTokensWhereARowSeesNothing) {
  expect_found("averages_empty_rows", "empty_rows: a row that sees nothing reads hidden tokens");
}

TEST(ConformanceKit, FindsAWindowThatIsOffByOne) {
  expect_found("window_off_by_one", "window: with window_size 1 the token at position 6 sees 2 keys: 5, 6");
}

TEST(ConformanceKit, FindsAWindowMaskThatShowsAnotherKey) {
  expect_found("keeps_the_first_key", "window: with mask: window 1 the token at position 6 sees 2 keys: 0, 6");
}

TEST(ConformanceKit, FindsAHeadThatReadsTheWrongKvHead) {
  expect_found("maps_heads_modulo", "heads: with 4 heads over 2 kv heads, the output differs");
}

TEST(ConformanceKit, FindsACacheWhosePositionsStartAgain) {
  expect_found("restarts", "cache: a sequence fed token by token differs from the same sequence at once by");
}

TEST(ConformanceKit, FindsPaddingThatCounts) {
  expect_found("counts_padding", "padding: hidden tokens behind a sequence change the output at position 0");
}

TEST(ConformanceKit, FindsADropoutThatDropsNothing) { expect_found("never_drops", "dropout: two calls in training"); }

TEST(ConformanceKit, FindsALeakBehindTheFirstChunk) {
  expect_found("leaks_in_later_chunks", "causal: first leak: the output at position 64 depends on the later token");
}

TEST(ConformanceKit, FindsTooFewDigits) {
  expect_found("rounds_outputs", "dtypes: in Float the output is off by 0.");
  expect_found("divides_by_half_of_nothing",
               "dtypes: NaN or infinity in the output in Half, where a token is all zeros");
}

TEST(ConformanceKit, FindsAGradientThatOneKernelLoses) {
  expect_found("shifts_untold", "kernels: kernel 'reference' gives a gradient of shift that differs by");
}

TEST(ConformanceKit, FindsAKernelThatIsAskedForAndNotTaken) {
  expect_found("ignores_kernel", "kernels: kernel 'sdpa' was asked for, and '");
}

TEST(ConformanceKit, FindsATokenOfAnotherDocumentThatIsRead) {
  expect_found("reads_other_documents",
               "documents: the output at position 1 depends on token 0, which is of another document");
}

TEST(ConformanceKit, FindsAStateThatLeaksIntoAnotherDocument) {
  expect_found("leaks_behind_a_chunk", "documents: the output at position 64 depends on token ");
  expect_found("leaks_through_the_cache", "cache: a sequence fed token by token with documents differs");
  expect_found("counts_other_documents", "documents: the document of tokens 4 to 6 gives another output at position 4");
}

TEST(ConformanceKit, FindsAnOperatorThatFailsWithoutTokens) { expect_found("last_token", "nothing: threw: "); }

TEST(ConformanceKit, FindsAHiddenTokenThatIsRead) {
  expect_found("ignores_key_mask", "key_mask: a hidden token influences the output of a visible one");
}

TEST(ConformanceKit, FindsDropoutInEval) { expect_found("drops_in_eval", "deterministic: two calls in eval differ"); }

TEST(ConformanceKit, FindsRowsOfABatchThatMix) { expect_found("mixes_batch_rows", "batch_rows: row 0 of a batch"); }

TEST(ConformanceKit, FindsMasksOfABatchThatMix) { expect_found("mixes_masks", "batch_rows: row 1 of a batch"); }

TEST(ConformanceKit, FindsWrongAndMissingGradients) {
  expect_found("wrong_gradient", "gradients: gradient of x: got");
  expect_found("no_gradient", "gradients: the output carries no gradient");
  expect_found("wrong_masked_gradient", "gradients: with a key mask, gradient of ");
}

TEST(ConformanceKit, FindsAnOutputOfAnotherWidthThanClaimed) {
  expect_found("wrong_width", "shape: got (2, 7, 7), expected (2, 7, 8)");
}

TEST(ConformanceKit, FindsNumbersThatAreNotFinite) { expect_found("divides_by_zero", "finite: NaN or infinity"); }

TEST(ConformanceKit, FindsAnOutputThatLeavesItsDtype) {
  expect_found("leaves_dtype", "dtypes: Double goes in, Float comes out");
}

TEST(ConformanceKit, FindsAnExportThatIsRightAtOneLengthOnly) {
  for (const auto* variant : {"bakes_its_length", "bakes_a_table", "bakes_angles"}) {
    expect_found(variant, "exported, it differs from the model at x (");
  }
}

TEST(ConformanceKit, FindsStateThatIsNoParameterAndNoBuffer) {
  expect_found("hidden_state", "state: with the same parameters and buffers");
}

TEST(ConformanceKit, FindsAValueThatIsNeitherRefusedNorWorks) {
  expect_found("takes_any_width", "parameters: d_key = -1 is not refused, and fails");
}

TEST(ConformanceKit, FindsAParameterWithoutADoc) {
  expect_found("undocumented", "documented: parameter 'd_key': it has no doc phrase");
}

TEST(ConformanceKit, FindsAFeedForwardThatMixesTokens) {
  EXPECT_THAT(failed(checked("mixes_tokens")), Contains("tokens: the output at position 1 depends on token 0"));
}

TEST(ConformanceKit, FindsAPositionThatCountsOnItsOwn) {
  EXPECT_THAT(failed(checked("counts_itself")), Contains(HasSubstr("positions: a token at a given position")));
}

TEST(ConformanceKit, SurvivesAVariantThatThrows) { expect_found("throws_when_asked", "claims: threw: "); }

TEST(ConformanceKit, AsksOnlyWhatIsClaimed) {
  std::vector<std::string> asked;
  for (const auto& property : checked("mixes_tokens")) asked.push_back(property.name);
  EXPECT_THAT(asked, Contains("tokens"));
  for (const auto* name : {"causal", "key_mask", "padding", "empty_rows", "positions", "window", "heads", "dropout"})
    EXPECT_THAT(asked, Not(Contains(name)));
}

}  // namespace
}  // namespace headwright

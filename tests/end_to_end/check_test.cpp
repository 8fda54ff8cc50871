// `runner check` on shipped variants and on libraries from elsewhere, with the faults that it is there to find.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "helpers/command.h"
#include "helpers/temporary_folder.h"

namespace headwright::test {
namespace {

using nlohmann::json;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::string kFaulty = quoted(HEADWRIGHT_BUILD_DIR "/tests/plugins/faulty/faulty.so");

class Check : public TemporaryFolder {
 protected:
  Outcome run(const std::string& arguments) const {
    return run_command(quoted(HEADWRIGHT_BUILD_DIR "/runner") + " " + arguments, in(""), in(""));
  }

  json object(const std::string& arguments, int exit_code) const {
    const auto outcome = run(arguments + " --json");
    EXPECT_EQ(outcome.exit_code, exit_code) << arguments << ": " << outcome.standard_error;
    return json::parse(outcome.standard_output, nullptr, false);
  }

  void expect_failure(const std::string& arguments, int exit_code, const std::string& message) const {
    const auto outcome = run(arguments);
    EXPECT_EQ(outcome.exit_code, exit_code) << arguments;
    EXPECT_EQ(outcome.standard_output, "") << arguments;
    EXPECT_THAT(outcome.standard_error, HasSubstr(message)) << arguments;
  }
};

TEST_F(Check, PrintsItsKeysForAShippedVariant) {
  const auto result = object("check softmax --set mask=causal --set n_heads=4 --set n_kv_heads=2", 0);
  EXPECT_EQ(result["name"], "softmax");
  EXPECT_EQ(result["passed"], true);
  std::set<std::string> names;
  for (const auto& property : result["properties"]) {
    names.insert(property["name"]);
    EXPECT_EQ(property["passed"], true) << property;
    EXPECT_FALSE(property["detail"].get<std::string>().empty());
  }
  for (const auto* name :
       {"claims", "documented", "parameters", "shape", "finite", "deterministic", "dropout", "batch_rows", "causal",
        "key_mask", "padding", "empty_rows", "heads", "kernels", "gradients", "dtypes", "export", "state"}) {
    EXPECT_THAT(names, Contains(name));
  }
}

TEST_F(Check, FindsEachSeededFaultWithThePropertyMeantForIt) {
  const std::map<std::string, std::string> meant{
      {"leaks_future", "causal"},
      {"window_off_by_one", "window"},
      {"keeps_the_first_key", "window"},
      {"nan_on_empty_rows", "empty_rows"},
      {"drops_in_eval", "deterministic"},
      {"bakes_its_length", "export"},
      {"maps_heads_modulo", "heads"},
      {"mixes_batch_rows", "batch_rows"},
      {"wrong_gradient", "gradients"},
      {"averages_empty_rows", "empty_rows"},
      {"ignores_key_mask", "key_mask"},
      {"counts_padding", "padding"},
      {"never_drops", "dropout"},
      {"leaks_in_later_chunks", "causal"},
      {"bakes_a_table", "export"},
      {"bakes_angles", "export"},
      {"mixes_masks", "batch_rows"},
      {"wrong_masked_gradient", "gradients"},
      {"rounds_outputs", "dtypes"},
      {"divides_by_half_of_nothing", "dtypes"},
      {"shifts_untold", "kernels"},
      {"restarts", "cache"},
      {"takes_any_width", "parameters"},
      {"undocumented", "documented"},
      {"leaves_dtype", "dtypes"},
      {"hidden_state", "state"},
      {"wrong_width", "shape"},
      {"divides_by_zero", "finite"},
      {"throws_when_asked", "claims"},
      {"mixes_tokens", "tokens"},
      {"counts_itself", "positions"},
      {"ignores_kernel", "kernels"},
      {"reads_other_documents", "documents"},
  };
  const auto result = object("check " + kFaulty, 5);
  EXPECT_EQ(result["passed"], false);
  std::map<std::string, std::set<std::string>> failed;
  for (const auto& property : result["properties"]) {
    auto& names = failed[property["variant"]];
    if (property["passed"] == false) names.insert(property["name"]);
  }
  for (const auto& [variant, property] : meant) EXPECT_THAT(failed[variant], Contains(property)) << variant;
  for (const auto* sound : {"no_fault", "grouped", "turns"}) {
    EXPECT_TRUE(failed.contains(sound));
    EXPECT_THAT(failed[sound], IsEmpty()) << sound;
  }
}

TEST_F(Check, SaysInALineForEachPropertyWhatWasFound) {
  const auto outcome = run("--plugin-path " + kFaulty + " check leaks_future");
  EXPECT_EQ(outcome.exit_code, 5);
  EXPECT_THAT(outcome.standard_output,
              ::testing::ContainsRegex("causal +FAILS +first leak: the output at position 0 "));
  EXPECT_THAT(outcome.standard_output, ::testing::ContainsRegex("finite +holds +no NaN, no infinity"));
  EXPECT_THAT(outcome.standard_output, ::testing::ContainsRegex("leaks_future: [0-9]+ of [0-9]+ properties fail"));
}

TEST_F(Check, RefusesWhatItDoesNotKnowWithAHint) {
  expect_failure("check sotfmax", 2, "no variant is called 'sotfmax'; did you mean 'softmax'?");
  expect_failure("check softmax --set dropuot=0.1", 2, "--set dropuot=0.1:1:1: dropuot: unknown parameter");
  expect_failure("check " + quoted(HEADWRIGHT_BUILD_DIR), 2, "is a folder, expected a plugin library");
}

TEST_F(Check, EndsWithThreeForALibraryThatIsNoPlugin) {
  file_with("text.so", "not a library");
  expect_failure("check ./nowhere.so", 3, "nowhere.so': no such file");
  expect_failure("check text.so", 3, "text.so: ");
  expect_failure("check " + quoted(HEADWRIGHT_BUILD_DIR "/tests/plugins/broken/other_abi.so"), 3,
                 "built for plugin ABI");
}

}  // namespace
}  // namespace headwright::test

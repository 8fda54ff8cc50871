// Every line of help and `describe` is approved text.
#include <gtest/gtest.h>

#include "helpers/approved.h"
#include "helpers/command.h"
#include "helpers/commands.h"
#include "helpers/configs.h"
#include "helpers/temporary_folder.h"

namespace headwright::test {
namespace {

std::string runner() { return quoted(HEADWRIGHT_BUILD_DIR "/runner"); }

class Help : public TemporaryFolder {
 protected:
  void expect(const std::string& arguments, const std::string& name) {
    const auto outcome = run_command(runner() + " " + arguments, in(""), in(""));
    EXPECT_EQ(outcome.exit_code, 0) << arguments << ": " << outcome.standard_error;
    EXPECT_EQ(outcome.standard_error, "") << arguments;
    expect_approved(portable(outcome.standard_output), HEADWRIGHT_SOURCE_DIR "/tests/golden/help/" + name + ".txt");
  }
};

TEST_F(Help, OfEachCommandBeginsWithExamples) {
  expect("--help", "runner");
  const auto commands = commands_of(runner(), in(""));
  EXPECT_GT(commands.size(), 10U);
  for (const auto& command : commands) expect(command + " --help", command);
}

TEST_F(Help, DescribesEachVariant) {
  for (const auto* variant : shipped_plugins().all()) expect("describe " + variant->name, "describe_" + variant->name);
}

TEST_F(Help, DescribesAVariantForDocuments) {
  expect("describe rms_norm --markdown", "markdown_of_rms_norm");
  expect("describe simple_self_attention --markdown", "markdown_of_simple_self_attention");
}

TEST_F(Help, ListsTheVariants) { expect("list", "list_of_variants"); }

}  // namespace
}  // namespace headwright::test

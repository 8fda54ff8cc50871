// Completion, asked of the shells themselves.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "helpers/command.h"
#include "helpers/temporary_folder.h"

namespace headwright::test {
namespace {

using ::testing::Contains;
using ::testing::IsSupersetOf;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

const std::string kRunner = HEADWRIGHT_BUILD_DIR "/runner";

class Completion : public TemporaryFolder {
 protected:
  /// What bash offers for these words, the last of which is being typed.
  std::vector<std::string> offered(const std::string& words) const {
    file_with("ask.bash", "source <(" + quoted(kRunner) + " completion bash)\nCOMP_WORDS=(" + quoted(kRunner) + " " +
                              words + ")\nCOMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n_runner\n" +
                              "printf '%s\\n' \"${COMPREPLY[@]}\"\n");
    const auto outcome = run_command("bash ask.bash", in(""), in(""));
    EXPECT_EQ(outcome.standard_error, "") << words;
    std::vector<std::string> found;
    std::istringstream lines(outcome.standard_output);
    for (std::string line; std::getline(lines, line);) found.push_back(line);
    return found;
  }

  bool is_here(const std::string& shell) const {
    return run_command("command -v " + shell, in(""), in("")).exit_code == 0;
  }

  Outcome ask(const std::string& line) const { return run_command(line, in(""), in("")); }
};

TEST_F(Completion, OfBashOffersCommandsAndTheProgramsOptions) {
  EXPECT_THAT(offered("''"), IsSupersetOf({"forward", "export", "check", "new-plugin", "completion"}));
  EXPECT_THAT(offered("''"), Not(Contains("probe"))) << "hidden";
  EXPECT_THAT(offered("for"), UnorderedElementsAre("forward"));
  EXPECT_THAT(offered("--plug"), UnorderedElementsAre("--plugin-path"));
  EXPECT_THAT(offered("--log-level warn de"), UnorderedElementsAre("describe"));
}

TEST_F(Completion, OfBashOffersTheOptionsOfACommandAndTheirChoices) {
  EXPECT_THAT(offered("describe --"), UnorderedElementsAre("--help", "--json", "--markdown"));
  EXPECT_THAT(offered("schema --format ''"), UnorderedElementsAre("json", "markdown"));
  EXPECT_THAT(offered("schema --format = m"), UnorderedElementsAre("markdown"));
  EXPECT_THAT(offered("--color n"), UnorderedElementsAre("never"));
  EXPECT_THAT(offered("completion f"), UnorderedElementsAre("fish"));
  EXPECT_THAT(offered("forward --set ''"), UnorderedElementsAre("")) << "nothing";
}

TEST_F(Completion, OfBashOffersFilesFoldersAndVariants) {
  file_with("a b.yaml", "");
  file_with("other.yaml", "");
  std::filesystem::create_directory(in("folder"));
  EXPECT_THAT(offered("forward a"), UnorderedElementsAre("a b.yaml", "ask.bash"));
  EXPECT_THAT(offered("export other.yaml -o f"), UnorderedElementsAre("folder"));
  EXPECT_THAT(offered("--plugin-path ''"), UnorderedElementsAre("folder"));
  EXPECT_THAT(offered("describe softm"), UnorderedElementsAre("softmax"));
  file_with("my.so", "");
  EXPECT_THAT(offered("check my"), UnorderedElementsAre("my.so"));
}

TEST_F(Completion, OfZshIsUnderstoodByIt) {
  ASSERT_EQ(ask(quoted(kRunner) + " completion zsh >_runner").exit_code, 0);
  if (!is_here("zsh")) GTEST_SKIP() << "there is no zsh here";
  const auto loaded = ask("zsh -f -c 'autoload -Uz compinit && compinit -u -D; source ./_runner && whence -w _runner'");
  EXPECT_EQ(loaded.standard_output, "_runner: function\n") << loaded.standard_error;
  EXPECT_EQ(loaded.standard_error, "");
}

TEST_F(Completion, OfFishOffersCommandsChoicesAndVariants) {
  ASSERT_EQ(ask(quoted(kRunner) + " completion fish >runner.fish").exit_code, 0);
  if (!is_here("fish")) GTEST_SKIP() << "there is no fish here";
  const auto offer = [&](const std::string& line) {
    return ask("PATH=" + quoted(HEADWRIGHT_BUILD_DIR) + ":$PATH HOME=. fish -N -c 'source runner.fish; complete -C \"" +
               line + "\"' | cut -f1")
        .standard_output;
  };
  EXPECT_EQ(offer("runner for"), "forward\n");
  EXPECT_EQ(offer("runner schema --format m"), "markdown\n");
  EXPECT_EQ(offer("runner describe softm"), "softmax\n");
}

}  // namespace
}  // namespace headwright::test

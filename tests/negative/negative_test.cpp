// Every bad config of this folder, given to the real executable: the whole text that a user sees, and the exit code.
// NAME.yaml is the config, NAME.expected what is printed; an .expected without a .yaml is a config that is not there.
// The folder itself is for `validate`, too_large for `forward`: what fits into memory is no property of a config.
#include <gtest/gtest.h>

#include <regex>
#include <set>

#include "helpers/approved.h"
#include "helpers/command.h"
#include "helpers/temporary_folder.h"

namespace headwright {
namespace {

namespace fs = std::filesystem;

const fs::path kFolder = fs::path(HEADWRIGHT_SOURCE_DIR) / "tests/negative";

std::vector<std::string> bad_configs(const fs::path& folder) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const auto& path = entry.path();
    if (path.extension() == ".yaml" || path.extension() == ".expected") names.insert(path.stem());
  }
  return {names.begin(), names.end()};
}

class BadConfig : public test::TemporaryFolder, public testing::WithParamInterface<std::string> {
 protected:
  void expect_refused(const std::string& command, int exit_code, const fs::path& folder) {
    const auto runner = test::quoted(std::string(HEADWRIGHT_BUILD_DIR) + "/runner");
    const auto line = "env -u HEADWRIGHT_PLUGIN_PATH " + runner + " " + command + " " + GetParam() + ".yaml";
    const auto got = test::run_command(line, folder, in(""));
    EXPECT_EQ(got.exit_code, exit_code);
    EXPECT_EQ(got.standard_output, "");
    EXPECT_NE(got.standard_error, "");
    const std::regex of_this_machine("can take [0-9.]+ [KMGT]iB");
    const auto text = std::regex_replace(test::portable(got.standard_error), of_this_machine, "can take SO MUCH");
    test::expect_approved(text, folder / (GetParam() + ".expected"));
  }
};

std::string name_of(const testing::TestParamInfo<std::string>& info) { return info.param; }

class Invalid : public BadConfig {};
TEST_P(Invalid, IsRefusedWithItsMessage) { expect_refused("validate", 2, kFolder); }
INSTANTIATE_TEST_SUITE_P(Configs, Invalid, testing::ValuesIn(bad_configs(kFolder)), name_of);

class TooLarge : public BadConfig {};
TEST_P(TooLarge, IsRefusedWithTheEstimate) { expect_refused("forward", 4, kFolder / "too_large"); }
INSTANTIATE_TEST_SUITE_P(Configs, TooLarge, testing::ValuesIn(bad_configs(kFolder / "too_large")), name_of);

TEST(NegativeConfigs, AreAtLeastEighty) { EXPECT_GE(bad_configs(kFolder).size(), 80U); }

}  // namespace
}  // namespace headwright

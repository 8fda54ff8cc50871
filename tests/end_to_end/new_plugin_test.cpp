// `runner new-plugin`: what it writes keeps its promises as it is. sdk_test.py builds one outside, as a user would.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cctype>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>

#include "helpers/command.h"
#include "helpers/temporary_folder.h"

namespace headwright::test {
namespace {

using ::testing::HasSubstr;

const std::string kRunner = quoted(HEADWRIGHT_BUILD_DIR "/runner");

class NewPlugin : public TemporaryFolder {
 protected:
  Outcome run(const std::string& arguments) const { return run_command(kRunner + " " + arguments, in(""), in("")); }

  void expect_failure(const std::string& arguments, const std::string& message) const {
    const auto outcome = run("new-plugin " + arguments);
    EXPECT_EQ(outcome.exit_code, 2) << arguments;
    EXPECT_EQ(outcome.standard_output, "") << arguments;
    EXPECT_THAT(outcome.standard_error, HasSubstr(message)) << arguments;
  }
};

class EachKind : public NewPlugin, public testing::WithParamInterface<const char*> {};

TEST_P(EachKind, KeepsItsPromisesAndItsConfigRuns) {
  const std::string kind = GetParam(), name = "my_" + kind;
  const auto library = quoted(HEADWRIGHT_BUILD_DIR "/tests/generated/" + name + ".so");
  const auto written = run("new-plugin " + name + " --kind " + kind + " --json");
  ASSERT_EQ(written.exit_code, 0) << written.standard_error;
  const auto object = nlohmann::json::parse(written.standard_output);
  EXPECT_EQ(object["folder"], name);
  EXPECT_EQ(object["files"], nlohmann::json({name + ".cpp", name + ".yaml", "CMakeLists.txt"}));
  EXPECT_EQ(bytes_of(in(name + "/" + name + ".cpp")),
            bytes_of(HEADWRIGHT_BUILD_DIR "/tests/fixtures/generated/" + name + ".cpp"))
      << "the library that is tested here is not built from what is written";

  const auto checked = run("check " + library);
  EXPECT_EQ(checked.exit_code, 0) << checked.standard_output << checked.standard_error;
  const auto forward = run("--plugin-path " + library + " forward " + name + "/" + name + ".yaml");
  EXPECT_EQ(forward.exit_code, 0) << forward.standard_error;
}

INSTANTIATE_TEST_SUITE_P(All, EachKind, testing::Values("attention", "feed_forward", "norm", "position"),
                         [](const auto& kind) { return std::string(kind.param); });

TEST_F(NewPlugin, RefusesNamesThatAreNone) {
  for (const auto* name : {"MyNorm", "my-norm", "2norms", "norm_", "a__b", "../norm"}) {
    expect_failure(std::string(name) + " --kind norm", "NAME: got '");
  }
  expect_failure(std::string(65, 'a') + " --kind norm", "at most 64 characters");
  expect_failure("'' --kind norm", "NAME: is empty");
  for (const auto* name : {"test", "torch"}) {
    expect_failure(std::string(name) + " --kind norm", "which means something else in a build");
  }
  for (const auto* name : {"true", "no"}) {
    expect_failure(std::string(name) + " --kind norm", "which YAML does not read as a name");
  }
  for (const auto* name : {"class", "float", "co_await", "xor_eq"}) {
    expect_failure(std::string(name) + " --kind norm", "which is a word of C++; take another name, such as 'my_");
  }
  for (const std::string name : {"softmax", "rope", "rms_norm", "swiglu"}) {
    expect_failure(name + " --kind attention",
                   name + ".so provides already; take another name, such as 'my_" + name + "'");
  }
  EXPECT_FALSE(std::filesystem::exists(in("test")));
}

/// "QkvAttention" -> "qkv_attention"
std::string words_of(const std::string& type) {
  std::string words;
  for (const char c : type) {
    if (std::isupper(static_cast<unsigned char>(c)) != 0 && !words.empty()) words += '_';
    words += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return words;
}

TEST_F(NewPlugin, RefusesEveryTypeOfTheInterface) {
  const std::regex declaration("^(?:class|struct|enum class|using) (?:HEADWRIGHT_API )?([A-Z][A-Za-z]+)");
  std::set<std::string> types;
  for (const auto& header :
       std::filesystem::directory_iterator(HEADWRIGHT_SOURCE_DIR "/framework/include/headwright")) {
    std::ifstream file(header.path());
    for (std::string line; std::getline(file, line);) {
      std::smatch match;
      if (std::regex_search(line, match, declaration)) types.insert(match[1]);
    }
  }
  EXPECT_TRUE(types.contains("QkvAttention") && types.contains("Scoring") && types.contains("Kind"));
  std::string commands;
  for (const auto& type : types) commands += kRunner + " new-plugin " + words_of(type) + " --kind attention; ";
  const auto outcome = run_command(commands + "true", in(""), in(""));
  EXPECT_EQ(outcome.standard_output, "");
  for (const auto& type : types) {
    EXPECT_THAT(outcome.standard_error, HasSubstr("NAME: got '" + words_of(type) + "', ")) << type;
  }
}

TEST_F(NewPlugin, RefusesAKindThatIsNoneAndAFolderThatIsThereOrNotThere) {
  expect_failure("mine --kind atention", "--kind: ");
  expect_failure("mine", "--kind");
  expect_failure("mine --kind norm --into nowhere", "nowhere: no such folder");
  std::filesystem::create_directory(in("mine"));
  expect_failure("mine --kind norm", "mine: exists already; nothing was written");
  EXPECT_TRUE(std::filesystem::is_empty(in("mine")));
}

TEST_F(NewPlugin, LeavesNothingBehindWhereItCannotWrite) {
  const auto outcome = run_command(
      "(trap '' XFSZ; ulimit -f 0; " + kRunner + " new-plugin mine --kind norm) 2>&1 | cat", in(""), in(""));
  EXPECT_THAT(outcome.standard_output, HasSubstr("mine"));
  for (const auto& entry : std::filesystem::directory_iterator(in(""))) {
    EXPECT_THAT(entry.path().filename().string(), ::testing::AnyOf("stdout", "stderr"));
  }
}

}  // namespace
}  // namespace headwright::test

// The real executable with libraries that are damaged, doubled, without a seal, or that throw.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "helpers/command.h"
#include "helpers/temporary_folder.h"

namespace headwright::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

const fs::path kPlugins = HEADWRIGHT_BUILD_DIR "/plugins";
const std::string kSoftmax = quoted(HEADWRIGHT_SOURCE_DIR "/configs/attention/softmax.yaml");

class PluginFiles : public TemporaryFolder {
 protected:
  Outcome run(const std::string& arguments, const std::string& environment = "") {
    return run_command(environment + " " + quoted(HEADWRIGHT_BUILD_DIR "/runner") + " " + arguments, in(""), in(""));
  }

  json refused(const std::string& arguments) {
    const auto outcome = run(arguments);
    EXPECT_EQ(outcome.exit_code, 0) << arguments << ": " << outcome.standard_error;
    return json::parse(outcome.standard_output).at("refused");
  }

  /// A config of one layer, in its own file.
  fs::path config(const std::string& attention, const std::string& more = "") {
    return file_with(attention + ".yaml",
                     "name: one\nmodel:\n  d_model: 8\n  blocks: {only: {order: plain, "
                     "attention: " +
                         attention + "}}\n  layers: [only]\n" + more + "input: {random: {shape: [1, 3, 8]}}\n");
  }
};

TEST_F(PluginFiles, ADuplicateStopsOnlyWhatNeedsItsName) {
  const auto copy = in("another.so"), own = kPlugins / "swiglu.so";
  fs::copy_file(own, copy);
  const auto with = "--plugin-path " + quoted(copy) + " ";
  for (const std::string command : {"list --json", "doctor --json"}) {
    const auto text = refused(with + command).dump();
    EXPECT_THAT(text, AllOf(HasSubstr(copy), HasSubstr(own), HasSubstr("swiglu"))) << command;
  }
  const auto config = file_with("needs.yaml",
                                "name: one\nmodel:\n  d_model: 8\n  blocks: {only: {order: plain, "
                                "feed_forward: swiglu}}\n  layers: [only]\n"
                                "input: {random: {shape: [1, 3, 8]}}\n");
  const auto failed = run(with + "forward " + quoted(config));
  EXPECT_EQ(failed.exit_code, 3) << failed.standard_error;
  EXPECT_THAT(failed.standard_error,
              AllOf(HasSubstr("two libraries provide 'swiglu'"), HasSubstr(copy), HasSubstr(own)));
  const auto fine = run(with + "forward " + kSoftmax);
  EXPECT_EQ(fine.exit_code, 0) << fine.standard_error;
  EXPECT_THAT(fine.standard_error, HasSubstr(copy));  // a warning
}

TEST_F(PluginFiles, ARefusedOneThatWasNamedIsAnErrorAndOneInAFolderAWarning) {
  fs::create_directory(in("found"));
  const auto garbage = quoted(file_with("found/garbage.so", "no library"));
  const auto named = config("softmax", "plugins: [found/garbage.so]\n");
  for (const auto& line : {"--plugin-path " + garbage + " forward " + kSoftmax, "forward " + quoted(named),
                           "--plugin-path " + garbage + " describe softmax"}) {
    const auto outcome = run(line);
    EXPECT_EQ(outcome.exit_code, 3) << line << outcome.standard_error;
    EXPECT_THAT(outcome.standard_error, HasSubstr("garbage.so: not a shared library")) << line;
  }
  EXPECT_EQ(run("forward " + kSoftmax, "HEADWRIGHT_PLUGIN_PATH=" + garbage).exit_code, 3);
  const auto found = run("--plugin-path found forward " + kSoftmax);
  EXPECT_EQ(found.exit_code, 0) << found.standard_error;
  EXPECT_THAT(found.standard_error, HasSubstr("garbage.so: not a shared library"));
  for (const std::string command : {"list", "doctor"}) {  // what is refused is what these are asked for
    const auto report = run("--plugin-path " + garbage + " " + command);
    EXPECT_EQ(report.exit_code, 0) << report.standard_error;
    EXPECT_THAT(report.standard_output, HasSubstr("garbage.so: not a shared library"));
    EXPECT_EQ(report.standard_error, "");
  }
}

TEST_F(PluginFiles, FlippedBytesEndNoCommand) {
  const auto whole = bytes_of(kPlugins / "softmax.so");
  fs::create_directory(in("flipped"));
  constexpr std::size_t kFlips = 250;
  for (std::size_t i = 0; i < kFlips; ++i) {
    auto bytes = whole;
    auto& byte = bytes[i * (whole.size() - 1) / (kFlips - 1)];
    byte = static_cast<char>(byte ^ (1 << (i % 8)));
    file_with("flipped/" + std::to_string(i) + ".so", bytes);
  }
  const auto list = refused("--plugin-path flipped list --json");
  EXPECT_EQ(list.size(), kFlips);
  for (const auto& item : list)
    EXPECT_THAT(item["reason"].get<std::string>(), testing::Not(HasSubstr("tried"))) << item;
  const auto forward = run("--plugin-path flipped forward " + kSoftmax);  // by the shipped one
  EXPECT_EQ(forward.exit_code, 0) << forward.standard_error;
}

TEST_F(PluginFiles, SealMakesALibraryBuiltByHandUsable) {
  auto bare = bytes_of(HEADWRIGHT_BUILD_DIR "/tests/plugins/good/good_one.so");
  bare.resize(bare.size() - 16);
  const auto library = quoted(file_with("bare.so", bare));
  const auto describe = "--plugin-path " + library + " describe good_one";
  EXPECT_THAT(run(describe).standard_error, HasSubstr("runner seal"));
  EXPECT_EQ(run(describe, "HEADWRIGHT_ALLOW_UNSEALED=1").exit_code, 0);
  EXPECT_EQ(json::parse(run("seal --json " + library).standard_output)["sealed"].size(), 1);
  EXPECT_EQ(run(describe).exit_code, 0);
  EXPECT_THAT(refused("--plugin-path " + library + " list --json"), IsEmpty());
  const auto text = run("seal " + quoted(file_with("text.so", "hello")));
  EXPECT_EQ(text.exit_code, 2);
  EXPECT_THAT(text.standard_error, HasSubstr("text.so: not a shared library"));
}

TEST_F(PluginFiles, WhatAForwardThrowsIsThePluginsFault) {
  const auto library = "--plugin-path " + quoted(HEADWRIGHT_BUILD_DIR "/tests/plugins/odd/throws_in_forward.so") + " ";
  const std::map<std::string, std::string> said{{"throws_number", "something that is no std::exception"},
                                                {"throws_own_type", "something that is no std::exception"},
                                                {"throws_shape_error", "[odd] x: got nothing good"},
                                                {"throws_input_error", "an input that nobody gave"}};
  for (const auto& [name, message] : said) {
    const auto file = quoted(config(name));
    for (const auto& command :
         {"forward " + file, "compare " + file + " " + file, "bench " + file, "export -o out.pt " + file}) {
      const auto outcome = run(library + command);
      EXPECT_EQ(outcome.exit_code, 3) << command << outcome.standard_error;
      EXPECT_THAT(outcome.standard_error, HasSubstr("blocks.0.attention: '" + name + "' failed in forward: "));
      EXPECT_THAT(outcome.standard_error, HasSubstr(message));
    }
  }
}

}  // namespace
}  // namespace headwright::test

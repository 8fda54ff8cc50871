// The real executable: what it prints as JSON, and the exit code of each way to fail.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "helpers/command.h"
#include "helpers/temporary_folder.h"

namespace headwright::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

const std::string kRunner = quoted(HEADWRIGHT_BUILD_DIR "/runner");

/// A shipped config, quoted for the shell.
std::string shipped(const std::string& name) { return quoted(HEADWRIGHT_SOURCE_DIR "/configs/" + name); }

class Runner : public TemporaryFolder {
 protected:
  Outcome run(const std::string& arguments) { return run_command(kRunner + " " + arguments, in(""), in("")); }

  /// The one JSON object on stdout; the keys named are there.
  json object(const std::string& arguments, const std::vector<std::string>& keys, int exit_code = 0) {
    const auto outcome = run(arguments);
    EXPECT_EQ(outcome.exit_code, exit_code) << arguments << ": " << outcome.standard_error;
    const auto parsed = json::parse(outcome.standard_output, nullptr, false);
    EXPECT_TRUE(parsed.is_object()) << arguments << ": " << outcome.standard_output;
    for (const auto& key : keys) EXPECT_TRUE(parsed.contains(key)) << arguments << ": no key " << key;
    return parsed;
  }

  void expect_failure(const std::string& arguments, int exit_code, const std::string& message) {
    const auto outcome = run(arguments);
    EXPECT_EQ(outcome.exit_code, exit_code) << arguments << ": " << outcome.standard_error;
    EXPECT_EQ(outcome.standard_output, "") << arguments;
    EXPECT_THAT(outcome.standard_error, HasSubstr(message)) << arguments;
  }
};

TEST_F(Runner, ForwardPrintsItsKeys) {
  const auto result = object("forward --json " + shipped("models/tiny_gpt.yaml"),
                             {"name", "device", "dtype", "parameters", "seconds", "kernels", "outputs"});
  EXPECT_EQ(result["outputs"]["y"]["shape"], json({2, 6, 100}));
  EXPECT_EQ(result["outputs"]["y"]["values"].size(), 1200U);
  EXPECT_EQ(result["kernels"]["blocks.0.attention"], "blockwise");  // a window
  EXPECT_EQ(result["kernels"]["blocks.1.attention"], "sdpa");
}

TEST_F(Runner, ForwardCutsLongOutputsUnlessAskedForAll) {
  const std::string forward = "forward --json --random 1,64 " + shipped("models/tiny_gpt.yaml");
  const auto cut = object(forward, {}), full = object(forward + " --full", {});
  EXPECT_EQ(cut["outputs"]["y"]["values"].size(), 4096U);
  EXPECT_EQ(cut["outputs"]["y"]["truncated"], true);
  EXPECT_EQ(full["outputs"]["y"]["values"].size(), 6400U);
}

TEST_F(Runner, ForwardSavesWhatCompareReads) {
  for (const std::string file : {"y.npy", "y.safetensors"}) {
    ASSERT_EQ(run("forward " + shipped("attention/softmax.yaml") + " -o " + file).exit_code, 0);
    ASSERT_EQ(
        run("forward " + shipped("attention/softmax.yaml") + " --set run.kernel=reference -o other_" + file).exit_code,
        0);
    const auto result =
        object("compare --json " + file + " other_" + file, {"max_abs_error", "max_rel_error", "equal", "tensors"});
    EXPECT_EQ(result["equal"], true);
  }
}

TEST_F(Runner, TwoResultsInOneFileAreRefused) {
  const auto softmax = shipped("attention/softmax.yaml");
  expect_failure("forward " + softmax + " -o y.safetensors --attention-out ./y.safetensors", 2,
                 "--output and --attention-out are one file");
  expect_failure("bench " + softmax + " -o b.json --plot b.json", 2, "--output and --plot are one file");
  EXPECT_EQ(run("forward " + softmax + " -o x.safetensors").exit_code, 0);
  expect_failure("forward " + softmax + " --input x.safetensors:y -o x.safetensors", 2,
                 "--input and --output are one file");
  EXPECT_EQ(run_command("cp " + softmax + " a.svg", in(""), in("")).exit_code, 0);
  expect_failure("mask a.svg --svg a.svg", 2, "CONFIG and --svg are one file");
  expect_failure("bench " + softmax + " a.svg --vary seq_len=2,3 --plot a.svg", 2, "CONFIG and --plot are one file");
  EXPECT_EQ(run_command("cp " + softmax + " a.yaml", in(""), in("")).exit_code, 0);
  expect_failure("export a.yaml -o a.yaml", 2, "CONFIG and --output are one file");
}

TEST_F(Runner, AnEmptyValueIsNoValue) {
  const auto softmax = shipped("attention/softmax.yaml");
  for (const std::string option :
       {"--output", "--attention-out", "--input", "--tokens", "--random", "--device", "--dtype"}) {
    expect_failure("forward " + softmax + " " + option + " ''", 2, option + ": is empty");
  }
  expect_failure("lesson ''", 2, "ID: is empty");
  expect_failure("mask " + softmax + " --svg ''", 2, "--svg: is empty");
}

TEST_F(Runner, AnExportWithAKernelThatHasNoneIsRefusedAtItsKey) {
  expect_failure(
      "export " + shipped("attention/softmax.yaml") + " --set run.kernel=blockwise -o a.pt", 2,
      "--set run.kernel=blockwise:1:12: run.kernel: blocks.0.attention: [attend] kernel 'blockwise' cannot be "
      "exported; use 'auto'");
}

TEST_F(Runner, HelpThatCannotBePrintedIsAFailure) {
  EXPECT_EQ(run_command(kRunner + " --help >/dev/full", in(""), in("")).exit_code, 1);
}

TEST_F(Runner, AFileWithoutAnEndIsNotReadAsAnExport) {
  const auto outcome = run_command("mkfifo pipe && timeout 20 " + kRunner + " inspect pipe", in(""), in(""));
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.standard_error, HasSubstr("pipe: is not a regular file"));
}

TEST_F(Runner, ALimitOnTheSizeOfFilesIsAFailureThatLeavesNothing) {
  const auto outcome =
      run_command("mkdir out && (ulimit -f 1; " + kRunner + " export " + shipped("attention/softmax.yaml") +
                      " -o out/z.pt 2>&1 | cat >message; exit ${PIPESTATUS[0]}); ls -A out",
                  in(""), in(""));
  EXPECT_EQ(outcome.standard_output, "");
  EXPECT_THAT(bytes_of(in("message")), HasSubstr("the file would be larger than this process may write"));
}

TEST_F(Runner, ShowAndForwardTellTheSameKernels) {
  const auto config = shipped("attention/sliding_window.yaml") + " --set model.blocks.only.attention.dropout=0.1";
  for (const std::string kernel : {"auto", "blockwise", "reference"}) {
    const auto with = " --json " + config + " --set run.kernel=" + kernel;
    EXPECT_EQ(object("show" + with, {})["kernels"], object("forward" + with, {})["kernel_choices"]) << kernel;
  }
}

TEST_F(Runner, CompareEndsWithFiveWhereTheTwoDiffer) {
  expect_failure("compare a.npy b.npy --random 2,6,8", 2, "two tensor files are compared as they are");
  const auto result = object("compare --json " + shipped("attention/softmax.yaml") + " " +
                                 shipped("attention/sliding_window.yaml") + " --set model.n_kv_heads=4",
                             {"max_abs_error"}, 5);
  EXPECT_EQ(result["equal"], false);
  EXPECT_GT(result["max_abs_error"].get<double>(), 0.01);
}

TEST_F(Runner, ExportAndInspectPrintTheirKeys) {
  const auto written = object("export --json " + shipped("models/tiny_gpt.yaml") + " -o tiny.pt",
                              {"file", "format", "parameters", "sha256", "dynamic", "checked"});
  const auto found = object("inspect --json tiny.pt",
                            {"file", "format", "valid", "sha256", "config", "versions", "parameters", "checked"});
  EXPECT_EQ(written["dynamic"], true);
  EXPECT_GE(written["checked"].size(), 3U);
  EXPECT_EQ(found["valid"], true);
  EXPECT_EQ(found["sha256"], written["sha256"]);
  EXPECT_EQ(found["parameters"], written["parameters"]);
}

TEST_F(Runner, TheOtherCommandsPrintTheirKeys) {
  const auto list = object("list --json", {"plugins", "refused"});
  ASSERT_FALSE(list["plugins"].empty());
  for (const auto* key : {"name", "kind", "file", "summary", "source", "claims"}) {
    EXPECT_TRUE(list["plugins"][0].contains(key)) << key;
  }
  const auto described = object("describe --json softmax", {"name", "kind", "summary", "source", "params", "claims"});
  for (const auto* key : {"name", "type", "default", "doc", "min", "max", "choices"}) {
    EXPECT_TRUE(described["params"][0].contains(key)) << key;
  }
  const auto shown = object("show --json " + shipped("models/gpt2_small.yaml"),
                            {"config", "origins", "parameters", "bytes", "kernels"});
  EXPECT_EQ(shown["parameters"]["total"], 124439808);
  object("doctor --json", {"versions", "devices", "threads", "plugin_paths", "plugins", "refused"});
  const auto lesson = object("lesson --json 3.3.1", {"id", "title", "steps", "checks"});
  for (const auto* key : {"name", "shape", "meaning", "values"}) {
    EXPECT_TRUE(lesson["steps"][0].contains(key)) << key;
  }
}

TEST_F(Runner, ValidateReportsEachProblemWithItsPlace) {
  file_with("bad.yaml", "name: bad\nmodel: { d_model: 8, n_haeds: 2, blocks: { b: { order: plain } } }\n");
  const auto result = object("validate --json bad.yaml", {"valid", "errors"}, 2);
  EXPECT_EQ(result["valid"], false);
  ASSERT_EQ(result["errors"].size(), 2U);
  const auto& error = result["errors"][0];
  EXPECT_EQ(error["file"], "bad.yaml");
  EXPECT_EQ(error["line"], 2);
  EXPECT_EQ(error["column"], 22);
  EXPECT_EQ(error["path"], "model.n_haeds");
  EXPECT_EQ(error["suggestion"], "n_heads");
}

TEST_F(Runner, MisspeltCommandsAndOptionsGetTheNearestOne) {
  expect_failure("forwrd", 2, "unknown command 'forwrd'; did you mean 'forward'?");
  expect_failure("forward --jsno " + shipped("models/tiny_gpt.yaml"), 2, "did you mean '--json'?");
  expect_failure("forward --out y.npy " + shipped("models/tiny_gpt.yaml"), 2, "did you mean '--output'?");
  expect_failure("", 2, "no command");
}

TEST_F(Runner, AMissingPluginFolderEndsWithThree) { expect_failure("--plugin-path nowhere list", 3, "nowhere"); }

TEST_F(Runner, GlobalOptionsStandBeforeOrBehindACommand) {
  expect_failure("list --plugin-path nowhere", 3, "nowhere");
  expect_failure("forward " + shipped("models/tiny_gpt.yaml") + " --plugin-path nowhere", 3, "nowhere");
  EXPECT_EQ(run("list --names --log-level error").standard_output,
            run("--log-level error list --names").standard_output);
  expect_failure("list forward", 2, "forward");
}

TEST_F(Runner, AnUnusableDeviceEndsWithFour) {
  if (run("doctor --json").standard_output.find("cuda") != std::string::npos) GTEST_SKIP() << "there is a GPU here";
  expect_failure("forward " + shipped("models/tiny_gpt.yaml") + " --device cuda", 4, "usable: cpu");
}

TEST_F(Runner, AModelLargerThanMemoryEndsWithFourAndTheEstimate) {
  expect_failure("forward " + shipped("models/gpt2_small.yaml") + " --set model.d_model=786432", 4, "TiB");
  expect_failure("forward " + shipped("attention/softmax.yaml") + " --random 1000000000000,1,16", 4, "TiB");
}

TEST_F(Runner, AFullDiskBehindStdoutIsAFailure) {
  const auto outcome = run_command(kRunner + " list >/dev/full", in(""), in(""));
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.standard_error, HasSubstr("could not be written"));
}

TEST_F(Runner, AnOutputThatCannotBeWrittenLeavesTheOldFileWhole) {
  file_with("y.npy", "old");
  const std::string limited = "ulimit -f 0; " + kRunner + " ";
  for (const auto& command : {"forward " + shipped("attention/softmax.yaml") + " -o y.npy",
                              "export " + shipped("models/tiny_gpt.yaml") + " -o y.npy --format torchscript"}) {
    const auto before = std::filesystem::file_size(in("y.npy"));
    const auto outcome = run_command("trap '' XFSZ; (" + limited + command + ") 2>&1 | cat", in(""), in(""));
    EXPECT_THAT(outcome.standard_output, HasSubstr("y.npy")) << command;
    EXPECT_EQ(std::filesystem::file_size(in("y.npy")), before);
    EXPECT_EQ(bytes_of(in("y.npy")), "old");
  }
}

TEST_F(Runner, SignalsEndItWithTheirCode) {
  const std::string slow = kRunner + " forward " + shipped("models/gpt2_small.yaml") + " --random 8,1024 >/dev/null";
  EXPECT_EQ(run_command("timeout --preserve-status -s INT 2 " + slow, in(""), in("")).exit_code, 130);
  EXPECT_EQ(run_command("timeout --preserve-status -s TERM 2 " + slow, in(""), in("")).exit_code, 143);
}

TEST_F(Runner, ASignalLeavesNoHalfWrittenFile) {
  const std::string slow = kRunner + " export " + shipped("models/gpt2_small.yaml") + " -o gpt2.pt >/dev/null & ";
  // The file that is being written has no name, or one that ends in .tmp
  const std::string wait =
      "for i in $(seq 600); do ls -l /proc/$!/fd | grep -q \"$PWD/\" && break; sleep 0.1; done; ls -l /proc/$!/fd; ";
  const auto outcome = run_command(slow + wait + "kill -INT $!; kill -TERM $!; wait $!; ls -A >after", in(""), in(""));
  EXPECT_THAT(outcome.standard_output, HasSubstr(std::filesystem::canonical(in("")).string() + "/"));
  const auto after = bytes_of(in("after"));
  EXPECT_EQ(after.find(".tmp"), std::string::npos) << after;
  EXPECT_EQ(after.find("gpt2.pt"), std::string::npos) << after;
}

TEST_F(Runner, StdoutHoldsDataOnlyAndNoColorIsObeyed) {
  const auto outcome = run_command(
      "NO_COLOR=1 " + kRunner + " --log-level debug forward --json " + shipped("models/tiny_gpt.yaml"), in(""), in(""));
  EXPECT_TRUE(json::parse(outcome.standard_output, nullptr, false).is_object());
  EXPECT_EQ(outcome.standard_error.find('\033'), std::string::npos);
}

// Static destructors and thread ends have crashed such hosts after their work was done, and only sometimes
// (pytorch issue 46171).
TEST_F(Runner, AProcessThatRanEveryPluginReturnsFromMainAHundredTimes) {
  const auto command = quoted(HEADWRIGHT_BUILD_DIR "/tests/probe_for_tests") + " run_all " +
                       quoted(HEADWRIGHT_BUILD_DIR "/plugins") + " " + quoted(in("cache"));
  const auto plugins = object("list --json", {"plugins"})["plugins"].size();
  for (int i = 0; i < 100; ++i) {
    const auto outcome = run_command(command, in(""), in(""));
    ASSERT_EQ(outcome.exit_code, 0) << "run " << i << ": " << outcome.standard_error;
    ASSERT_EQ(outcome.standard_output, std::to_string(plugins) + "\n");
  }
}

}  // namespace
}  // namespace headwright::test

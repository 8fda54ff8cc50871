// runner bench: what it prints in each form, what it writes, and how it refuses.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "helpers/command.h"
#include "helpers/configs.h"
#include "helpers/temporary_folder.h"

namespace headwright::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

const std::string kRunner = quoted(HEADWRIGHT_BUILD_DIR "/runner");
const std::string kSoftmax = quoted(HEADWRIGHT_SOURCE_DIR "/configs/attention/softmax.yaml");
const std::string kGpt = quoted(HEADWRIGHT_SOURCE_DIR "/configs/models/tiny_gpt.yaml");

class BenchCommand : public TemporaryFolder {
 protected:
  /// Two rounds, one of them to warm up, on one thread.
  Outcome bench(const std::string& arguments) {
    return run_command(kRunner + " bench --repeats 1 --threads 1 " + arguments, in(""), in(""));
  }

  json object(const std::string& arguments) {
    const auto outcome = bench("--json " + arguments);
    EXPECT_EQ(outcome.exit_code, 0) << arguments << ": " << outcome.standard_error;
    EXPECT_EQ(outcome.standard_error, "");  // no bar where stderr is no terminal
    return json::parse(outcome.standard_output, nullptr, false);
  }

  void expect_failure(const std::string& arguments, int exit_code, const std::string& message) {
    const auto outcome = bench(arguments);
    EXPECT_EQ(outcome.exit_code, exit_code) << arguments << ": " << outcome.standard_error;
    EXPECT_EQ(outcome.standard_output, "") << arguments;
    EXPECT_THAT(outcome.standard_error, HasSubstr(message)) << arguments;
  }
};

void expect_pass(const json& pass) {
  for (const auto* key : {"median", "min", "max"}) EXPECT_GT(pass[key].get<double>(), 0) << key;
  EXPECT_LE(pass["min"], pass["median"]);
  EXPECT_LE(pass["median"], pass["max"]);
}

TEST_F(BenchCommand, PrintsItsKeys) {
  const auto result = object(kSoftmax + " --vary seq_len=4,8 --baseline sdpa");
  EXPECT_GT(result["gemm_gflops"].get<double>(), 0);
  EXPECT_EQ(result["threads"], 1);
  ASSERT_EQ(result["runs"].size(), 2U);
  for (const auto& run : result["runs"]) {
    EXPECT_EQ(run["name"], "softmax");
    EXPECT_EQ(run["kernel"], "sdpa");
    EXPECT_EQ(run["batch_size"], 2);
    expect_pass(run["forward"]);
    expect_pass(run["backward"]);
    EXPECT_GT(run["peak_extra_bytes"].get<std::int64_t>(), 0);
    EXPECT_GT(run["share_of_gemm"].get<double>(), 0);
    EXPECT_EQ(run["baseline"]["name"], "sdpa");
    EXPECT_LE(run["baseline"]["difference"], 1e-4);
    for (const auto* side : {"forward", "backward"}) {
      expect_pass(run["baseline"][side]);
      expect_pass(run["baseline"]["core"][side]);
      EXPECT_GT(run["baseline"][std::string(side) + "_speedup"].get<double>(), 0);
    }
  }
  EXPECT_EQ(result["runs"][0]["seq_len"], 4);
  EXPECT_EQ(result["runs"][1]["seq_len"], 8);
  EXPECT_EQ(result["runs"][1]["baseline"]["q_shape"], json({2, 4, 8, 4}));
  EXPECT_EQ(result["runs"][1]["baseline"]["k_shape"], json({2, 2, 8, 4}));
}

TEST_F(BenchCommand, CountsTheOperationsOfTheWholeModel) {
  const auto flops = [&](const std::string& arguments) {
    return object(kSoftmax + " --no-backward " + arguments)["runs"][0]["flops"].get<std::int64_t>();
  };
  // q and out: 16 x 16, k and v: 16 x 8, for each of 2 x 5 tokens; then the lower triangle of 4 heads of width 4
  const std::int64_t projections = 2 * 5 * 2 * (2 * 16 * 16 + 2 * 16 * 8), pairs = 2 * 4 * (5 * 6 / 2);
  EXPECT_EQ(flops(""), projections + pairs * 2 * (4 + 4));
  EXPECT_EQ(flops("--set run.kernel=reference"), projections + 2 * 4 * 5 * 5 * 2 * (4 + 4));
}

// Operators of oneDNN take memory from the allocator in their own way.
TEST_F(BenchCommand, MeasuresEveryShippedVariant) {
  std::string configs;
  std::size_t count = 0;
  for (const auto& config : shipped_configs()) {
    if (config.parent_path().filename() != "attention" && config.stem() != "bert_layer") continue;
    configs += " " + quoted(config.string());
    ++count;
  }
  const auto runs = object(configs + " --warm-up 0")["runs"];
  ASSERT_EQ(runs.size(), count);
  for (const auto& one : runs) EXPECT_GT(one["peak_extra_bytes"], 0) << one;
}

TEST_F(BenchCommand, MeasuresEveryCombinationOfEveryConfig) {
  const auto result =
      object(kGpt + " " + kSoftmax + " --no-backward --vary batch_size=1,2 --vary run.kernel=sdpa,reference");
  ASSERT_EQ(result["runs"].size(), 8U);
  EXPECT_EQ(result["runs"][0]["name"], "tiny_gpt");
  EXPECT_EQ(result["runs"][3]["name"], "tiny_gpt");
  EXPECT_EQ(result["runs"][4]["name"], "softmax");
  EXPECT_EQ(result["runs"][1]["batch_size"], 1);
  EXPECT_EQ(result["runs"][1]["vary"], json({{"run.kernel", "reference"}}));
  EXPECT_EQ(result["runs"][1]["kernel"], "reference");
  EXPECT_EQ(result["runs"][2]["batch_size"], 2);
  EXPECT_EQ(result["runs"][2]["kernel"], "sdpa");
  EXPECT_TRUE(result["runs"][0]["backward"].is_null());
  EXPECT_TRUE(result["runs"][0]["baseline"].is_null());
}

TEST_F(BenchCommand, TakesMemoriesAndDocumentsAlongWithTheSizes) {
  const auto shipped = [](const std::string& name) { return quoted(HEADWRIGHT_SOURCE_DIR "/configs/" + name); };
  EXPECT_EQ(
      object(shipped("models/packed_documents.yaml") + " --vary seq_len=16 --baseline dense")["runs"][0]["seq_len"],
      16);
  for (const std::string name : {"models/encoder_decoder.yaml", "attention/cross_attention.yaml"}) {
    const auto runs = object(shipped(name) + " --vary seq_len=8,16 --vary batch_size=1,3")["runs"];
    ASSERT_EQ(runs.size(), 4U) << name;
    EXPECT_EQ(runs[3]["batch_size"], 3) << name;
  }
}

TEST_F(BenchCommand, ReplacesAnInputThatDoesNotFitWhatVaries) {
  const auto shipped = [](const std::string& name) { return quoted(HEADWRIGHT_SOURCE_DIR "/configs/" + name); };
  const auto first_of = [&](const std::string& arguments) {
    return object("--no-backward --warm-up 0 " + arguments)["runs"][0];
  };
  const auto run = first_of(kSoftmax + " --set model.d_model=64 --vary seq_len=16,32");
  EXPECT_EQ(run["batch_size"], 2);  // of the config's own input
  EXPECT_EQ(run["seq_len"], 16);
  EXPECT_EQ(first_of(kSoftmax + " --set model.d_model=64 --vary batch_size=3")["seq_len"], 5);
  EXPECT_EQ(first_of(kSoftmax + " --vary model.d_model=64,32")["seq_len"], 5);
  EXPECT_EQ(first_of(kGpt + " --set model.embedding.vocab_size=3 --vary seq_len=7")["batch_size"], 2);
  EXPECT_EQ(first_of(shipped("attention/cross_attention.yaml") + " --set model.d_model=32 --vary seq_len=7")["seq_len"],
            7);

  ASSERT_EQ(run_command(kRunner + " forward " + kSoftmax + " -o x.npy", in(""), in("")).exit_code, 0);
  const auto config = bytes_of(HEADWRIGHT_SOURCE_DIR "/configs/attention/softmax.yaml");
  file_with("file.yaml", config.substr(0, config.find("\ninput:")) + "\ninput: { file: x.npy }\n");
  EXPECT_EQ(first_of("file.yaml --set model.d_model=64 --vary seq_len=7")["batch_size"], 2);
  EXPECT_EQ(first_of("file.yaml --vary model.d_model=64,32")["seq_len"], 5);
}

TEST_F(BenchCommand, AnInputThatCannotBeReadStaysAnError) {
  expect_failure(kSoftmax + " --set model.d_model=64", 2, "expected (batch, seq, 64) of features");  // nothing varies
  expect_failure(kSoftmax + " --set input.lenghts=[1,2] --vary seq_len=4", 2, "did you mean 'lengths'?");
  expect_failure(kSoftmax + " --set model.n_haeds=4 --vary seq_len=4", 2, "did you mean 'n_heads'?");
}

TEST_F(BenchCommand, SaysWhyABaselineIsMissing) {
  const auto config = quoted(HEADWRIGHT_SOURCE_DIR "/configs/lessons/causal_attention.yaml");
  const auto result = object(config + " --baseline dense");
  EXPECT_TRUE(result["runs"][0]["baseline"].is_null());
  EXPECT_EQ(result["runs"][0]["no_baseline"], "no layer computes its attention on the core");
  EXPECT_THAT(bench(config + " --baseline dense").standard_output, HasSubstr("no baseline: no layer"));
}

TEST_F(BenchCommand, PrintsTablesAndWritesFilesAndAPlot) {
  const std::string twice = kSoftmax + " --vary seq_len=4,8 --baseline dense ";
  const auto text = bench(twice + "-o table.md --plot cost.svg");
  EXPECT_EQ(text.exit_code, 0) << text.standard_error;
  EXPECT_THAT(text.standard_output, HasSubstr("the whole model\nNAME     BATCH  SEQ  KERNEL"));
  EXPECT_THAT(text.standard_output, HasSubstr("dense / core"));
  EXPECT_THAT(bytes_of(in("table.md")), HasSubstr("| NAME | BATCH | SEQ |"));
  EXPECT_THAT(bytes_of(in("cost.svg")), StartsWith("<svg "));
  EXPECT_THAT(bytes_of(in("cost.svg")), HasSubstr("softmax: attention forward, dense"));
  const auto csv = bench(twice + "--format csv -o table.json");
  EXPECT_THAT(csv.standard_output, StartsWith("config,name,batch_size,seq_len,"));
  EXPECT_EQ(std::ranges::count(csv.standard_output, '\n'), 3);
  EXPECT_EQ(json::parse(bytes_of(in("table.json")), nullptr, false)["runs"].size(), 2U);
  EXPECT_THAT(bench(twice + "--format markdown").standard_output, HasSubstr("| --- |"));
}

TEST_F(BenchCommand, RefusesWhatItCannotMeasure) {
  expect_failure(kSoftmax + " --vary seq_length=8", 2, "did you mean 'seq_len'?");
  expect_failure(kSoftmax + " --vary seq_len=-1", 2, "expected a whole number of at least 1");
  expect_failure(kSoftmax + " --vary model.n_haeds=2", 2, "did you mean 'n_heads'?");
  expect_failure(kSoftmax + " --baseline flash", 2, "flash");
  expect_failure(kSoftmax + " --repeats 0", 2, "--repeats");
  expect_failure(kSoftmax + " --plot cost.svg", 2, "two lengths");
  expect_failure(kSoftmax + " --vary seq_len=4,8 --plot cost.png", 2, "ends in .svg");
  expect_failure(kSoftmax + " -o table.xls", 2, "ends in .txt, .md, .csv or .json");
  EXPECT_EQ(bench(kSoftmax + " --json --format csv").exit_code, 2);
  expect_failure(kGpt + " --vary seq_len=100000", 2, "model.context_length");
  expect_failure("nowhere.yaml", 2, "nowhere.yaml");
  expect_failure(kSoftmax + " --set run.kernel=magic", 2, "magic");
  EXPECT_FALSE(std::filesystem::exists(in("cost.svg")));
}

TEST_F(BenchCommand, MoreThanMemoryEndsWithFour) {
  expect_failure(kSoftmax + " --vary seq_len=1000000000000", 4, "TiB");
  expect_failure(kSoftmax + " --set run.kernel=reference --vary seq_len=300000 --vary batch_size=1", 4, "memory");
}

TEST_F(BenchCommand, AFailureLeavesTheOldFileWholeAndNoOtherBehind) {
  file_with("table.md", "old");
  expect_failure(kGpt + " --vary seq_len=100000 -o table.md", 2, "model.context_length");
  EXPECT_EQ(bytes_of(in("table.md")), "old");
  for (const auto& entry : std::filesystem::directory_iterator(in(""))) {
    EXPECT_THAT(entry.path().string(), Not(HasSubstr(".tmp")));
  }
  expect_failure(kSoftmax + " -o nowhere/table.md", 1, "nowhere");
}

}  // namespace
}  // namespace headwright::test

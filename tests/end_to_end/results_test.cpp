// What is said of results that are no numbers, and of the threads that computed them.
#include <gmock/gmock.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "helpers/command.h"
#include "helpers/temporary_folder.h"
#include "tensor_io/tensor_io.h"

namespace headwright::test {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const std::string kRunner = quoted(HEADWRIGHT_BUILD_DIR "/runner");
const std::string kSoftmax = quoted(HEADWRIGHT_SOURCE_DIR "/configs/attention/softmax.yaml");

class Results : public TemporaryFolder {
 protected:
  Outcome run(const std::string& arguments, const std::string& environment = "") {
    return run_command(environment + " " + kRunner + " " + arguments, in(""), in(""));
  }
  json object(const std::string& arguments, const std::string& environment = "") {
    return json::parse(run(arguments + " --json", environment).standard_output, nullptr, false);
  }
  /// Features for softmax.yaml, one of them NaN.
  void write_input_with_nan() {
    auto x = at::ones({2, 5, 16});
    x[1][2][3] = std::numeric_limits<float>::quiet_NaN();
    tensor_io::write_npy(in("x.npy"), x);
  }
};

TEST_F(Results, ThatAreNotFiniteAreSaidWithTheLayer) {
  const auto finite = run("forward " + kSoftmax);
  EXPECT_EQ(finite.standard_error, "");
  EXPECT_EQ(object("forward " + kSoftmax)["outputs"]["y"]["nan"], 0);

  write_input_with_nan();
  const auto given = run("forward " + kSoftmax + " --input x.npy");
  EXPECT_EQ(given.exit_code, 0);
  EXPECT_THAT(given.standard_error,
              AllOf(HasSubstr("warn"), HasSubstr("NaN"), HasSubstr("the first came from the input")));

  file_with("overflow.yaml", R"(name: overflow
model:
  d_model: 4
  blocks:
    first: { order: plain, feed_forward: relu }
    second: { order: plain, feed_forward: swiglu }  # a product of two projections
  layers: [first, second, first]
input: { values: [[[3e38, 3e38, 3e38, 3e38], [1, 1, 1, 1]]] }
)");
  const auto result = object("forward overflow.yaml");
  const auto& y = result["outputs"]["y"];
  EXPECT_GT(y["nan"].get<int>() + y["inf"].get<int>(), 0) << result;
  EXPECT_EQ(result["first_nonfinite"], "blocks.1");
  EXPECT_THAT(run("forward overflow.yaml").standard_error, HasSubstr("the first came from blocks.1"));
  EXPECT_THAT(run("compare " + kSoftmax + " " + kSoftmax + " --input x.npy").standard_error,
              HasSubstr("the first came from the input"));
}

TEST_F(Results, ThatAreNaNOnBothSidesAreNeverPlainlyEqual) {
  write_input_with_nan();
  const auto both = run("compare " + kSoftmax + " " + kSoftmax + " --input x.npy");
  EXPECT_EQ(both.exit_code, 5);
  EXPECT_THAT(both.standard_output, AllOf(HasSubstr("not shown to be equal: "), HasSubstr(" values NaN on both sides"),
                                          Not(HasSubstr("\nequal"))));
  const auto told = object("compare " + kSoftmax + " " + kSoftmax + " --input x.npy");
  EXPECT_EQ(told["equal"], false);
  EXPECT_EQ(told["max_abs_error"], 0.0);
  EXPECT_GT(told["nan"], 0);
  EXPECT_EQ(told["one_sided_nan"], 0);

  const auto allowed = run("compare x.npy x.npy --equal-nan");
  EXPECT_EQ(allowed.exit_code, 0);
  EXPECT_THAT(allowed.standard_output,
              HasSubstr("equal but for NaN: max abs error 0, tolerance 1e-05; 1 of 160 values NaN"));

  tensor_io::write_npy(in("y.npy"), at::ones({2, 5, 16}));
  const auto one = run("compare x.npy y.npy --equal-nan");
  EXPECT_EQ(one.exit_code, 5);
  EXPECT_THAT(one.standard_output,
              HasSubstr("different: max abs error inf, tolerance 1e-05; 1 of 160 values NaN on one side"));
}

TEST_F(Results, IntegersThatDifferByOneDiffer) {
  tensor_io::write_npy(in("a.npy"), at::full({1}, std::int64_t{1} << 53, at::kLong));
  tensor_io::write_npy(in("b.npy"), at::full({1}, (std::int64_t{1} << 53) + 1, at::kLong));
  EXPECT_EQ(run("compare a.npy b.npy").exit_code, 5);
  EXPECT_EQ(object("compare a.npy b.npy")["max_abs_error"], 1.0);
  EXPECT_EQ(run("compare b.npy b.npy").exit_code, 0);
}

TEST_F(Results, ATensorThatIsNotReadIsNamed) {
  const std::string header =
      R"({"x": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}, "scale": {"dtype": "F8_E4M3", "shape": [1], "data_offsets": [4, 5]}})";
  const std::uint64_t length = header.size();
  file_with("w.safetensors", std::string(reinterpret_cast<const char*>(&length), 8) + header + std::string(5, '\0'));
  const auto compared = run("compare w.safetensors w.safetensors");
  EXPECT_EQ(compared.exit_code, 5);
  EXPECT_THAT(compared.standard_output, AllOf(HasSubstr("scale"), HasSubstr("its dtype F8_E4M3 is not read")));
  EXPECT_THAT(run("inspect w.safetensors").standard_error, HasSubstr("not read: 'scale' (F8_E4M3)"));
  EXPECT_THAT(run("forward " + kSoftmax + " --input w.safetensors:scale").standard_error,
              HasSubstr("tensor 'scale': got dtype 'F8_E4M3'"));
}

TEST_F(Results, NumbersThatTheDtypeDoesNotHoldAreRefusedByEveryCommandThatReadsThem) {
  file_with("a.yaml",
            "name: a\nmodel: { d_model: 2, n_heads: 1, blocks: { b: { order: plain, attention: softmax } } }\n"
            "input: { values: [[[1, 1e300]]] }\n");
  for (const std::string command : {"forward", "validate", "show", "bench"}) {
    const auto outcome = run(command + " a.yaml");
    EXPECT_EQ(outcome.exit_code, 2) << command;
    EXPECT_THAT(outcome.standard_error,
                HasSubstr("a.yaml:3:24: input.values.0.0.1: got 1e+300, which float32 does not hold"))
        << command;
  }
  EXPECT_EQ(run("forward a.yaml --dtype float64").exit_code, 0);
}

TEST_F(Results, ThreadsAreThoseOfTheEnvironmentUnlessTheConfigSaysOtherwise) {
  const auto doctor = object("doctor", "OMP_NUM_THREADS=1");
  EXPECT_EQ(doctor["threads"], 1);
  EXPECT_EQ(doctor["threads_from"], "OMP_NUM_THREADS");
  EXPECT_THAT(run("doctor", "OMP_NUM_THREADS=3").standard_output, HasSubstr("3 (OMP_NUM_THREADS)"));
  EXPECT_THAT(run("doctor", "unset OMP_NUM_THREADS;").standard_output, HasSubstr("(one for each usable processor)"));
  const std::string bench = "bench --repeats 1 --warm-up 0 --no-backward " + kSoftmax;
  EXPECT_EQ(object(bench, "OMP_NUM_THREADS=1")["threads"], 1);
  EXPECT_EQ(object(bench + " --threads 2", "OMP_NUM_THREADS=1")["threads"], 2);
  EXPECT_EQ(object(bench + " --set run.threads=3", "OMP_NUM_THREADS=1")["threads"], 3);
}

TEST_F(Results, ThreadsThatTheSystemCannotGiveAreRefusedWithWhatTheProcessMayHave) {
  const std::string stacks = "OMP_STACKSIZE=100G";
  for (const std::string& command : {"forward " + kSoftmax, "bench " + kSoftmax, "export " + kSoftmax + " -o a.pt",
                                     "compare " + kSoftmax + " " + kSoftmax}) {
    const auto outcome = run(command + " --set run.threads=4096", stacks);
    EXPECT_EQ(outcome.exit_code, 4) << command << outcome.standard_error;
    EXPECT_THAT(
        outcome.standard_error,
        HasSubstr("--set run.threads=4096:1:13: run.threads: got 4096, but this process may have 1 (memory for stacks"))
        << command;
  }
  const auto environment = run("doctor", stacks + " OMP_NUM_THREADS=4096");
  EXPECT_EQ(environment.exit_code, 4);
  EXPECT_THAT(environment.standard_error, HasSubstr("OMP_NUM_THREADS: got 4096, but this process may have 1"));
  // With the system's own stacks it depends on the machine; libgomp never has the last word
  const auto usual = run("forward " + kSoftmax + " --set run.threads=4096");
  EXPECT_TRUE(usual.exit_code == 0 || usual.exit_code == 4) << usual.exit_code;
  EXPECT_THAT(usual.standard_error, Not(HasSubstr("libgomp")));
}

TEST_F(Results, OfKilledExportsAreWholeOrNotThereAndNothingElse) {
  const auto gpt = quoted(HEADWRIGHT_SOURCE_DIR "/configs/models/tiny_gpt.yaml");
  std::filesystem::create_directory(in("out"));
  run_command("for i in $(seq 15); do timeout -s KILL 0.$((i % 10))$i " + kRunner + " export " + gpt +
                  " -o out/tiny.pt >/dev/null 2>&1; done; true",
              in(""), in(""));
  ASSERT_EQ(run("export " + gpt + " -o out/tiny.pt").exit_code, 0);
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(in("out"))) names.push_back(entry.path().filename());
  EXPECT_THAT(names, testing::ElementsAre("tiny.pt"));
  EXPECT_EQ(run("inspect out/tiny.pt").exit_code, 0);
}

TEST_F(Results, TheOldNameOfAnOptionLeadsToTheNewOne) {
  const auto outcome = run("forward " + kSoftmax + " --weights-out w.safetensors");
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.standard_error, HasSubstr("unknown option '--weights-out'; it is called '--attention-out' now"));
}

}  // namespace
}  // namespace headwright::test

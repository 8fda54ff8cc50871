// What a benchmark prints, for a result that does not change.
#include "bench/table.h"

#include <gmock/gmock.h>

#include "bench/plot.h"
#include "bench/sizes.h"
#include "headwright/errors.h"
#include "helpers/approved.h"
#include "helpers/temporary_folder.h"

namespace headwright::bench {
namespace {

using test::message_of;
using testing::ElementsAre;
using testing::HasSubstr;

BenchPass pass(double seconds, std::int64_t flops, double gemm, std::optional<std::int64_t> bytes) {
  BenchPass pass{.seconds = {seconds, seconds * 0.9, seconds * 1.25}, .flops = flops, .peak_extra_bytes = bytes};
  pass.predicted = static_cast<double>(flops) / gemm;
  pass.share_of_gemm = pass.predicted / seconds;
  return pass;
}

/// Two configs at three lengths; the second cannot be compared and has no gradient.
Bench example() {
  Bench bench{.machine = {.flops_per_second = 2e11,
                          .gemm_size = 2048,
                          .near_bytes_per_second = 4e10,
                          .far_bytes_per_second = 1e10,
                          .seconds_per_operation = 1.5e-6},
              .threads = 2,
              .repeats = 5,
              .warm_up = 1};
  for (const std::int64_t seq : {512, 1024, 2048}) {
    const auto n = static_cast<double>(seq);
    BenchRun run{.config = "a.yaml", .name = "window, narrow", .varied = {{"model.n_heads", "4"}}};
    run.batch_size = 8;
    run.seq_len = seq;
    run.dtype = "float32";
    run.device = "cpu";
    run.kernel = "blockwise";
    run.machine.flops_per_second = 2e11;
    run.model = {pass(n * 1e-5, seq * 1000000, 2e11, seq * 4096), pass(n * 2.5e-5, seq * 2000000, 2e11, seq * 8192)};
    BenchBaseline baseline{.name = "sdpa", .layer = "blocks.0.attention", .mask = "window(256)", .kernel = "blockwise"};
    baseline.q_shape = {8, 4, seq, 64};
    baseline.k_shape = {8, 2, seq, 64};
    baseline.difference = 1e-7;
    baseline.core = {pass(n * 5e-6, seq * 500000, 2e11, seq * 1024), pass(n * 1e-5, seq * 1250000, 2e11, seq * 2048)};
    baseline.direct = {pass(n * n * 2e-8, seq * seq * 1000, 2e11, seq * seq),
                       pass(n * n * 4e-8, seq * seq * 2500, 2e11, {})};
    baseline.forward_speedup = n * 4e-3;
    baseline.backward_speedup = n * 4e-3;
    run.baseline = baseline;
    bench.runs.push_back(run);
  }
  for (const std::int64_t seq : {512, 1024, 2048}) {
    auto run = bench.runs[0];
    run.config = "b.yaml";
    run.name = "a|b";
    run.seq_len = seq;
    run.kernel = "";
    run.model = {pass(static_cast<double>(seq * seq) * 1e-9, 0, 2e11, {}), {}};
    run.baseline.reset();
    run.no_backward = "'lsh' claims no gradient";
    run.no_baseline = "no layer computes its attention on the core";
    run.uncounted = {"aten::_fft_c2c"};
    bench.runs.push_back(run);
  }
  return bench;
}

void expect_golden(const std::string& text, const std::string& name) {
  test::expect_approved(text, HEADWRIGHT_SOURCE_DIR "/tests/golden/bench/" + name);
}

TEST(BenchTable, AsMarkdownIsAsApproved) { expect_golden(bench_markdown(example()), "example.md"); }

TEST(BenchTable, AsCsvIsAsApproved) { expect_golden(bench_csv(example()), "example.csv"); }

TEST(BenchTable, EveryRowHasTheCellsOfItsHeading) {
  for (const auto& table : {bench_table(example()), baseline_table(example())}) {
    for (const auto& row : table) EXPECT_EQ(row.size(), table.front().size());
  }
  EXPECT_EQ(bench_table(example()).size(), 7U);
  EXPECT_EQ(baseline_table(example()).size(), 4U);
}

TEST(BenchTable, WithoutBackwardAndBaselineHasNoSuchColumns) {
  auto bench = example();
  for (auto& run : bench.runs) {
    run.baseline.reset();
    run.model.backward.reset();
  }
  EXPECT_TRUE(baseline_table(bench).empty());
  EXPECT_EQ(bench_table(bench).front(),
            (std::vector<std::string>{"NAME", "model.n_heads", "BATCH", "SEQ", "KERNEL", "FORWARD", "PREDICTED",
                                      "GFLOP", "OF GEMM", "MEMORY"}));
}

TEST(BenchTable, SaysOnceWhatIsMissing) {
  EXPECT_THAT(bench_notes(example()),
              ElementsAre("a|b: no backward: 'lsh' claims no gradient",
                          "a|b: no baseline: no layer computes its attention on the core",
                          "a|b: not in the operations nor in what is predicted: aten::_fft_c2c"));
}

TEST(BenchPlot, IsAsApproved) { expect_golden(bench_svg(example()), "example.svg"); }

TEST(BenchPlot, RefusesASingleLength) {
  auto bench = example();
  bench.runs.resize(1);
  EXPECT_THAT(message_of<InputError>([&] { bench_svg(bench); }), HasSubstr("two lengths"));
}

TEST(BenchPlot, NamesThatMeanSomethingToXmlAreWrittenOut) {
  auto bench = example();
  bench.runs[0].name = bench.runs[1].name = bench.runs[2].name = "<a & b>";
  EXPECT_THAT(bench_svg(bench), HasSubstr("&lt;a &amp; b&gt;"));
}

TEST(BenchAxis, ReadsItsNameAndValues) {
  const auto axis = bench_axis("seq_len=512,1024");
  EXPECT_EQ(axis.name, "seq_len");
  EXPECT_THAT(axis.values, ElementsAre("512", "1024"));
  EXPECT_THAT(bench_axis("run.kernel=sdpa,reference").values, ElementsAre("sdpa", "reference"));
}

TEST(BenchAxis, RefusesWhatIsNone) {
  const auto refusal = [](const std::string& text) { return message_of<InputError>([&] { bench_axis(text); }); };
  EXPECT_THAT(refusal("512"), HasSubstr("expected NAME=VALUE"));
  EXPECT_THAT(refusal("seq_length=512"), HasSubstr("did you mean 'seq_len'?"));
  EXPECT_THAT(refusal("seq_len=0"), HasSubstr("got '0', expected a whole number of at least 1"));
  EXPECT_THAT(refusal("seq_len=1e3"), HasSubstr("got '1e3'"));
  EXPECT_THAT(refusal("batch_size=99999999999999999999"), HasSubstr("expected a whole number"));
  EXPECT_THAT(refusal("seq_len=1,,2"), HasSubstr("empty value"));
  EXPECT_THAT(refusal("seq_len="), HasSubstr("empty value"));
  EXPECT_THAT(refusal("seq_len=8,8"), HasSubstr("'8' twice"));
}

TEST(BenchAxis, CombinesAllWithAllTheLastFastest) {
  const auto points = combinations({{"seq_len", {"1", "2"}}, {"batch_size", {"3", "4"}}});
  ASSERT_EQ(points.size(), 4U);
  EXPECT_THAT(points[1], ElementsAre(std::pair("seq_len", "1"), std::pair("batch_size", "4")));
  EXPECT_THAT(points[2], ElementsAre(std::pair("seq_len", "2"), std::pair("batch_size", "3")));
  EXPECT_EQ(combinations({}).size(), 1U);
  EXPECT_THAT(message_of<InputError>([] { combinations({{"seq_len", {"1"}}, {"seq_len", {"2"}}}); }),
              HasSubstr("given twice"));
  std::vector<std::string> many;
  for (int i = 1; i <= 40; ++i) many.push_back(std::to_string(i));
  EXPECT_THAT(message_of<InputError>([&] { combinations({{"seq_len", many}, {"batch_size", many}}); }),
              HasSubstr("more than 1000"));
}

}  // namespace
}  // namespace headwright::bench

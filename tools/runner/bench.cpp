// `runner bench`: what configs cost.
#include "bench/bench.h"

#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <map>
#include <memory>

#include "bench/baseline.h"
#include "bench/plot.h"
#include "bench/table.h"
#include "commands.h"
#include "exit_code.h"
#include "print.h"
#include "support/files.h"
#include "support/text.h"

namespace headwright::runner {
namespace {

constexpr auto kExamples = R"(  runner bench configs/models/tiny_gpt.yaml
  runner bench a.yaml b.yaml --vary seq_len=512,1024,2048 --plot cost.svg
  runner bench configs/attention/sliding_window.yaml --vary seq_len=8192 --baseline sdpa --json

A varied size takes a random input in place of the config's own and its key mask. FORWARD keeps no graph; BACKWARD is
the time of the gradients alone. GFLOP counts the matrix products that run, and OF GEMM is the share that is reached of
the rate of one large matrix product. PREDICTED adds up the operators that run: for each the longer of its products at
that rate and its bytes at the rate of a copy, and the time that an operator on one number takes. It is a floor: what an
operator does beside its products is not in it, such as the exponentials within torch's own attention, which outweigh
the products of narrow heads. The machine's rates are measured in the same rounds.
MEMORY is the most that tensors take beyond weights and input, for BACKWARD from the forward pass on.

A baseline is measured on the q, k and v of the first layer on the attention core, beside the core alone, and its
result has to equal the layer's. sdpa: torch's scaled_dot_product_attention, with is_causal or with the same mask as a
dense tensor, made beforehand; dense: two products and a masked softmax.)";

struct Options {
  std::vector<std::filesystem::path> configs;
  ConfigOptions settings;  // but the config
  std::vector<std::string> axes;
  std::string baseline, format = "text";
  int repeats = 5, warm_up = 1;
  std::optional<int> threads;
  bool no_backward = false, json = false;
  std::filesystem::path output, plot;
};

Json pass_json(const bench::BenchPass& pass) {
  Json object{{"median", pass.seconds.median}, {"min", pass.seconds.min}, {"max", pass.seconds.max},
              {"predicted", pass.predicted},   {"flops", pass.flops},     {"share_of_gemm", pass.share_of_gemm}};
  object["peak_extra_bytes"] = pass.peak_extra_bytes ? Json(*pass.peak_extra_bytes) : Json();
  return object;
}

void put_side(Json& object, const bench::BenchSide& side) {
  object["forward"] = pass_json(side.forward);
  object["backward"] = side.backward ? pass_json(*side.backward) : Json();
}

Json baseline_json(const bench::BenchBaseline& baseline) {
  Json object{{"name", baseline.name},
              {"layer", baseline.layer},
              {"q_shape", baseline.q_shape},
              {"k_shape", baseline.k_shape},
              {"mask", baseline.mask},
              {"kernel", baseline.kernel},
              {"difference", number_json(baseline.difference)}};
  put_side(object, baseline.direct);
  put_side(object["core"], baseline.core);
  object["forward_speedup"] = baseline.forward_speedup;
  object["backward_speedup"] = baseline.backward_speedup ? Json(*baseline.backward_speedup) : Json();
  return object;
}

/// Null where nothing was counted; else the most that either pass takes.
Json most_bytes(const bench::BenchSide& side) {
  auto most = side.forward.peak_extra_bytes;
  if (side.backward) most = std::max(most, side.backward->peak_extra_bytes);
  return most ? Json(*most) : Json();
}

Json run_json(const bench::BenchRun& run) {
  Json object{{"config", run.config},   {"name", run.name},   {"batch_size", run.batch_size}, {"seq_len", run.seq_len},
              {"vary", Json::object()}, {"dtype", run.dtype}, {"device", run.device},         {"kernel", run.kernel}};
  for (const auto& [name, value] : run.varied) object["vary"][name] = value;
  put_side(object, run.model);
  object["peak_extra_bytes"] = most_bytes(run.model);
  object["flops"] = run.model.forward.flops;
  object["share_of_gemm"] = run.model.forward.share_of_gemm;
  object["gemm_gflops"] = run.machine.flops_per_second / 1e9;
  object["uncounted"] = run.uncounted;
  object["baseline"] = run.baseline ? baseline_json(*run.baseline) : Json();
  if (!run.no_backward.empty()) object["no_backward"] = run.no_backward;
  if (!run.no_baseline.empty()) object["no_baseline"] = run.no_baseline;
  return object;
}

Json as_json(const bench::Bench& bench) {
  const auto& machine = bench.machine;
  Json object{{"gemm_gflops", machine.flops_per_second / 1e9},
              {"gemm_size", machine.gemm_size},
              {"near_gbytes", machine.near_bytes_per_second / 1e9},
              {"far_gbytes", machine.far_bytes_per_second / 1e9},
              {"operator_seconds", machine.seconds_per_operation},
              {"threads", bench.threads},
              {"repeats", bench.repeats},
              {"warm_up", bench.warm_up},
              {"runs", Json::array()}};
  for (const auto& run : bench.runs) object["runs"].push_back(run_json(run));
  return object;
}

std::string as_text(const bench::Bench& bench) {
  auto text = bench::bench_summary(bench) + "\n\nthe whole model\n" + table_text(bench::bench_table(bench));
  if (const auto table = bench::baseline_table(bench); !table.empty()) {
    text += "\nthe attention of one layer alone, on its q, k and v\n" + table_text(table);
  }
  for (const auto& note : bench::bench_notes(bench)) text += "\n" + note + "\n";
  return text;
}

std::string in_format(const bench::Bench& bench, const std::string& format) {
  if (format == "markdown") return bench::bench_markdown(bench);
  if (format == "csv") return bench::bench_csv(bench);
  return format == "json" ? json_text(as_json(bench)) : as_text(bench);
}

std::string format_of(const std::filesystem::path& file) {
  static const std::map<std::string, std::string> kFormats{
      {".txt", "text"}, {".md", "markdown"}, {".csv", "csv"}, {".json", "json"}};
  const auto found = kFormats.find(file.extension().string());
  if (found != kFormats.end()) return found->second;
  throw InputError("--output " + file.string() + ": expected a name that ends in .txt, .md, .csv or .json");
}

/// A bar on stderr where that is a terminal; it goes away when the work ends, however that is.
class ProgressBar {
 public:
  ProgressBar() : shown_(::isatty(STDERR_FILENO) == 1) {}
  ~ProgressBar() {
    if (shown_) std::cerr << "\r\033[K" << std::flush;
  }
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  void show(const std::string& what, std::size_t done, std::size_t total) const {
    if (!shown_) return;
    constexpr std::size_t kCells = 24;
    const auto full = total == 0 ? kCells : kCells * done / total;
    std::cerr << "\r\033[K[" << std::string(full, '#') << std::string(kCells - full, '.') << "] " << done << "/"
              << total << " " << support::printable(what, 60) << std::flush;
  }

 private:
  const bool shown_;
};

bench::BenchOptions bench_options(const Global& global, const Options& options) {
  bench::BenchOptions bench{.repeats = options.repeats,
                            .warm_up = options.warm_up,
                            .backward = !options.no_backward,
                            .baseline = options.baseline};
  for (const auto& config : options.configs) {
    auto request = options.settings.request(global);
    request.config = config;
    if (options.threads) request.overrides.push_back("run.threads=" + std::to_string(*options.threads));
    bench.configs.push_back(std::move(request));
  }
  for (const auto& text : options.axes) bench.axes.push_back(bench::bench_axis(text));
  return bench;
}

/// Before hours of measuring: what is to be plotted is there, files can be written.
void expect_lengths(const bench::BenchOptions& bench) {
  const auto axis = std::ranges::find(bench.axes, "seq_len", &bench::BenchAxis::name);
  if (axis != bench.axes.end() && axis->values.size() > 1) return;
  throw InputError("--plot: needs two lengths or more; give --vary seq_len=512,1024");
}

int bench(const Global& global, const Options& options) {
  auto asked = bench_options(global, options);
  for (const auto& config : options.configs) {
    expect_apart({{"CONFIG", config}, {"--output", options.output}, {"--plot", options.plot}});
  }
  const auto file_format = options.output.empty() ? "" : format_of(options.output);
  std::unique_ptr<support::AtomicFile> output, plot;
  if (!options.plot.empty()) {
    expect_lengths(asked);
    if (options.plot.extension() != ".svg") {
      throw InputError("--plot " + options.plot.string() + ": expected a name that ends in .svg");
    }
    plot = std::make_unique<support::AtomicFile>(options.plot);
  }
  if (!options.output.empty()) output = std::make_unique<support::AtomicFile>(options.output);
  const auto result = [&] {
    const ProgressBar bar;
    asked.progress = [&](const auto& what, auto done, auto total) { bar.show(what, done, total); };
    return bench::bench(asked);
  }();
  if (output) {
    output->write(in_format(result, file_format));
    output->commit();
  }
  if (plot) {
    plot->write(bench::bench_svg(result));
    plot->commit();
  }
  std::cout << in_format(result, options.json ? "json" : options.format);
  return kOk;
}

void add_what(CLI::App& command, Options& options) {
  command.add_option("CONFIG", options.configs, "YAML configs; all of them are measured in turns")
      ->required()
      ->type_name("FILE");
  command
      .add_option("--vary", options.axes,
                  "seq_len, batch_size, or a value of the config; may be repeated: all combinations")
      ->type_name("NAME=VALUE,...")
      ->allow_extra_args(false);
  command.add_option("--baseline", options.baseline, "compare one layer's attention with a direct call")
      ->check(CLI::IsMember(bench::baseline_names()));
  options.settings.add_settings_to(command);
}

void add_how(CLI::App& command, Options& options) {
  command.add_option("--threads", options.threads, "the same as --set run.threads=N")->type_name("N");
  command.add_option("--repeats", options.repeats, "measured rounds; each side has one turn in a round")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  command.add_option("--warm-up", options.warm_up, "rounds before them that do not count")
      ->check(CLI::Range(0, 100000))
      ->capture_default_str();
  command.add_flag("--no-backward", options.no_backward, "measure the forward pass alone");
}

void add_output(CLI::App& command, Options& options) {
  auto* format = command.add_option("--format", options.format, "how the result is printed")
                     ->check(CLI::IsMember({"text", "markdown", "csv", "json"}))
                     ->capture_default_str();
  command.add_option("-o,--output", options.output, "write the result to a .txt, .md, .csv or .json file as well")
      ->type_name("FILE");
  command.add_option("--plot", options.plot, "draw the median times against the length, as SVG")->type_name("FILE.svg");
  command.add_flag("--json", options.json, "print one JSON object")->excludes(format);
}

}  // namespace

void add_bench(CLI::App& app, Global& global) {
  const auto options = std::make_shared<Options>();
  auto& command = add_command(app, global, "bench", "time, memory and operations of configs, forward and backward",
                              kExamples, [&global, options] { return bench(global, *options); });
  add_what(command, *options);
  add_how(command, *options);
  add_output(command, *options);
}

}  // namespace headwright::runner

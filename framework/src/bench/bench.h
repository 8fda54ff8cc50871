// What configs cost: time forward and backward, memory, operations; and the same attention by a direct call.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench/machine.h"
#include "run/session.h"

namespace headwright::bench {

/// One thing that varies: "seq_len", "batch_size", or the path of a value of the config ("model.n_heads").
struct BenchAxis {
  std::string name;
  std::vector<std::string> values;
};

/// Reads "seq_len=512,1024". Throws InputError.
BenchAxis bench_axis(const std::string& text);

struct BenchOptions {
  std::vector<run::Request> configs;  // at least one
  std::vector<BenchAxis> axes;        // every combination is measured
  int repeats = 5, warm_up = 1;
  bool backward = true;
  std::string baseline;  // "sdpa", "dense"; empty = none
  /// What is measured next, and how many of how many measurements are done.
  std::function<void(const std::string& what, std::size_t done, std::size_t total)> progress;
};

struct BenchPass {
  Spread seconds;
  std::int64_t flops = 0;
  double predicted = 0;      // seconds: what its operators would take at the rates of the machine
  double share_of_gemm = 0;  // flops per second, of those of a large matrix product
  std::optional<std::int64_t> peak_extra_bytes;
};

struct BenchSide {
  BenchPass forward;
  std::optional<BenchPass> backward;
};

/// One layer's attention: the core against a direct call on the same q, k, v.
struct BenchBaseline {
  std::string name, layer, mask, kernel;
  std::vector<std::int64_t> q_shape, k_shape;
  double difference = 0;  // of the results, relative to the largest value
  BenchSide core, direct;
  double forward_speedup = 0;  // median over the rounds of direct / core
  std::optional<double> backward_speedup;
};

struct BenchRun {
  std::string config, name;
  std::vector<std::pair<std::string, std::string>> varied;  // other axes than the sizes
  std::int64_t batch_size = 0, seq_len = 0;
  std::string dtype, device, kernel;
  Machine machine;  // measured in the same rounds
  BenchSide model;
  std::vector<std::string> uncounted;    // operators whose operations are not in the counts
  std::string no_backward, no_baseline;  // why one that was asked for is missing
  std::optional<BenchBaseline> baseline;
};

struct Bench {
  Machine machine;  // of the first run
  int threads = 0, repeats = 0, warm_up = 0;
  std::vector<BenchRun> runs;  // by config, then in the order of the axes
};

/// Builds each config at each combination of the axes and measures all that belongs to one combination in turns, so
/// that a busy machine slows every side. Sets the process up. Throws ConfigError, InputError, ResourceError.
Bench bench(const BenchOptions& options);

}  // namespace headwright::bench

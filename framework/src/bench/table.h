// A benchmark as text, Markdown and CSV.
#pragma once
#include <string>
#include <vector>

#include "bench/bench.h"

namespace headwright::bench {

/// Rows of cells; the first row is the heading.
using Table = std::vector<std::vector<std::string>>;

/// What the numbers are: the matrix product, the threads, the rounds.
std::string bench_summary(const Bench& bench);

/// The whole models: times in milliseconds, median and (least to most).
Table bench_table(const Bench& bench);

/// One layer's attention through the core against the direct call; empty without a baseline.
Table baseline_table(const Bench& bench);

/// What was asked for and is missing, and what the counts leave out; one line each.
std::vector<std::string> bench_notes(const Bench& bench);

/// All of it as Markdown.
std::string bench_markdown(const Bench& bench);

/// One line a run, every number in seconds, bytes and operations; empty where there is none.
std::string bench_csv(const Bench& bench);

}  // namespace headwright::bench

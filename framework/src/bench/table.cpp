// Lays out a benchmark's entries in columns, for a terminal, Markdown and CSV.
#include "bench/table.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "support/text.h"

namespace headwright::bench {
namespace {

std::string formatted(const char* format, double number) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), format, number);
  return text.data();
}

/// Four digits that count.
std::string short_text(double number) { return formatted(number >= 1000 ? "%.0f" : "%.4g", number); }

std::string milliseconds(double seconds) { return short_text(1000 * seconds); }

std::string spread_text(const Spread& spread) {
  return milliseconds(spread.median) + " (" + milliseconds(spread.min) + " to " + milliseconds(spread.max) + ")";
}

std::string percent(double share) { return formatted("%.0f%%", 100 * share); }

std::string bytes(const std::optional<std::int64_t>& number) {
  return number ? support::bytes_text(static_cast<double>(*number)) : "";
}

std::string shape(const std::vector<std::int64_t>& sizes) {
  std::vector<std::string> parts;
  for (const auto size : sizes) parts.push_back(std::to_string(size));
  return "(" + support::join(parts, ", ") + ")";
}

/// Names of the axes that are no sizes, in their order.
std::vector<std::string> axes_of(const Bench& bench) {
  std::vector<std::string> names;
  if (bench.runs.empty()) return names;
  for (const auto& [name, value] : bench.runs.front().varied) names.push_back(name);
  return names;
}

/// Which run a row is about: name, what varies, batch and length.
void begin_row(std::vector<std::string>& row, const BenchRun& run) {
  row.push_back(run.name);
  for (const auto& [name, value] : run.varied) row.push_back(value);
  row.push_back(std::to_string(run.batch_size));
  row.push_back(std::to_string(run.seq_len));
}

std::vector<std::string> heading(const Bench& bench, std::vector<std::string> rest) {
  std::vector<std::string> row{"NAME"};
  for (const auto& axis : axes_of(bench)) row.push_back(axis);
  row.insert(row.end(), {"BATCH", "SEQ"});
  row.insert(row.end(), rest.begin(), rest.end());
  return row;
}

void add_pass(std::vector<std::string>& row, const BenchPass* pass) {
  if (pass == nullptr) {
    row.insert(row.end(), 5, "");
    return;
  }
  row.insert(row.end(), {spread_text(pass->seconds), milliseconds(pass->predicted),
                         short_text(static_cast<double>(pass->flops) / 1e9), percent(pass->share_of_gemm),
                         bytes(pass->peak_extra_bytes)});
}

template <class T>
const T* pointer(const std::optional<T>& value) {
  return value ? &*value : nullptr;
}

std::string markdown(const Table& table) {
  std::string text;
  for (const auto& row : table) {
    for (auto cell : row) {
      for (auto at = cell.find('|'); at != std::string::npos; at = cell.find('|', at + 2)) cell.insert(at, "\\");
      text += "| " + cell + " ";
    }
    text += "|\n";
    if (&row == &table.front()) {
      for (std::size_t i = 0; i < row.size(); ++i) text += "| --- ";
      text += "|\n";
    }
  }
  return text;
}

std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string cell = "\"";
  for (const char c : text) cell += c == '"' ? "\"\"" : std::string(1, c);
  return cell + "\"";
}

std::string csv_line(const std::vector<std::string>& row) {
  std::vector<std::string> cells;
  for (const auto& cell : row) cells.push_back(csv_cell(cell));
  return support::join(cells, ",") + "\n";
}

constexpr std::array kPassColumns{"median", "min", "max", "predicted", "flops", "share_of_gemm", "peak_extra_bytes"};

void add_numbers(std::vector<std::string>& row, const BenchPass* pass) {
  if (pass == nullptr) {
    row.insert(row.end(), kPassColumns.size(), "");
    return;
  }
  const auto& [seconds, flops, predicted, share, extra] = *pass;
  for (const auto number : {seconds.median, seconds.min, seconds.max, predicted}) {
    row.push_back(support::number_text(number));
  }
  row.push_back(std::to_string(flops));
  row.push_back(support::number_text(share));
  row.push_back(extra ? std::to_string(*extra) : "");
}

std::vector<std::string> csv_heading(const Bench& bench) {
  std::vector<std::string> row{"config", "name"};
  for (const auto& axis : axes_of(bench)) row.push_back(axis);
  row.insert(row.end(), {"batch_size", "seq_len", "dtype", "device", "kernel", "threads", "gemm_gflops"});
  for (const std::string side : {"", "core_", "baseline_"}) {
    if (side == "core_") row.insert(row.end(), {"baseline", "layer", "mask", "core_kernel", "difference"});
    for (const std::string pass : {"forward_", "backward_"}) {
      for (const auto* column : kPassColumns) row.push_back(side + pass + column);
    }
  }
  row.insert(row.end(), {"forward_speedup", "backward_speedup", "notes"});
  return row;
}

void add_side(std::vector<std::string>& row, const BenchSide* side) {
  add_numbers(row, side == nullptr ? nullptr : &side->forward);
  add_numbers(row, side == nullptr ? nullptr : pointer(side->backward));
}

std::vector<std::string> notes_of(const BenchRun& run) {
  std::vector<std::string> notes;
  if (!run.no_backward.empty()) notes.push_back("no backward: " + run.no_backward);
  if (!run.no_baseline.empty()) notes.push_back("no baseline: " + run.no_baseline);
  if (!run.uncounted.empty())
    notes.push_back("not in the operations nor in what is predicted: " + support::join(run.uncounted, ", "));
  return notes;
}

}  // namespace

std::string bench_summary(const Bench& bench) {
  const auto& machine = bench.machine;
  const auto size = std::to_string(machine.gemm_size);
  const auto& first = bench.runs.front();
  return "large matrix product (" + size + ", " + size + ") " + first.dtype + " on " + first.device + ": " +
         short_text(machine.flops_per_second / 1e9) + " GFLOP/s, " + std::to_string(bench.threads) +
         (bench.threads == 1 ? " thread" : " threads") +
         "; a copy: " + short_text(machine.near_bytes_per_second / 1e9) + " GB/s within a cache, " +
         short_text(machine.far_bytes_per_second / 1e9) +
         " beyond; an operator on one number: " + short_text(machine.seconds_per_operation * 1e6) + " us\n" +
         std::to_string(bench.repeats) + (bench.repeats == 1 ? " round" : " rounds") + " after " +
         std::to_string(bench.warm_up) + " to warm up; times in ms, median (least to most)";
}

Table bench_table(const Bench& bench) {
  const bool backward = std::ranges::any_of(bench.runs, [](const auto& run) { return run.model.backward.has_value(); });
  std::vector<std::string> columns{"KERNEL", "FORWARD", "PREDICTED", "GFLOP", "OF GEMM", "MEMORY"};
  if (backward) columns.insert(columns.end(), {"BACKWARD", "PREDICTED", "GFLOP", "OF GEMM", "MEMORY"});
  Table table{heading(bench, columns)};
  for (const auto& run : bench.runs) {
    std::vector<std::string> row;
    begin_row(row, run);
    row.push_back(run.kernel);
    add_pass(row, &run.model.forward);
    if (backward) add_pass(row, pointer(run.model.backward));
    table.push_back(std::move(row));
  }
  return table;
}

Table baseline_table(const Bench& bench) {
  const BenchBaseline* first = nullptr;
  for (const auto& run : bench.runs) {
    if (first == nullptr && run.baseline) first = &*run.baseline;
  }
  if (first == nullptr) return {};
  const auto& name = first->name;
  const bool backward = first->core.backward.has_value();
  std::vector<std::string> columns{"LAYER", "Q", "K", "MASK", "KERNEL", "FORWARD core", name, name + " / core"};
  if (backward) columns.insert(columns.end(), {"BACKWARD core", name, name + " / core"});
  Table table{heading(bench, columns)};
  for (const auto& run : bench.runs) {
    if (!run.baseline) continue;
    const auto& baseline = *run.baseline;
    std::vector<std::string> row;
    begin_row(row, run);
    row.insert(row.end(), {baseline.layer, shape(baseline.q_shape), shape(baseline.k_shape), baseline.mask,
                           baseline.kernel, spread_text(baseline.core.forward.seconds),
                           spread_text(baseline.direct.forward.seconds), short_text(baseline.forward_speedup)});
    if (baseline.core.backward && baseline.direct.backward && baseline.backward_speedup) {
      row.insert(row.end(), {spread_text(baseline.core.backward->seconds),
                             spread_text(baseline.direct.backward->seconds), short_text(*baseline.backward_speedup)});
    }
    table.push_back(std::move(row));
  }
  return table;
}

std::vector<std::string> bench_notes(const Bench& bench) {
  std::vector<std::string> notes;
  for (const auto& run : bench.runs) {
    for (const auto& text : notes_of(run)) {
      const auto note = run.name + ": " + text;
      if (std::ranges::find(notes, note) == notes.end()) notes.push_back(note);
    }
  }
  return notes;
}

std::string bench_markdown(const Bench& bench) {
  auto text = bench_summary(bench) + "\n\n" + markdown(bench_table(bench));
  if (const auto table = baseline_table(bench); !table.empty()) text += "\n" + markdown(table);
  for (const auto& note : bench_notes(bench)) text += "\n" + note + "\n";
  return text;
}

std::string bench_csv(const Bench& bench) {
  auto text = csv_line(csv_heading(bench));
  for (const auto& run : bench.runs) {
    std::vector<std::string> row{run.config};
    begin_row(row, run);
    row.insert(row.end(), {run.dtype, run.device, run.kernel, std::to_string(bench.threads),
                           support::number_text(run.machine.flops_per_second / 1e9)});
    add_side(row, &run.model);
    const auto* baseline = pointer(run.baseline);
    if (baseline == nullptr) {
      row.insert(row.end(), 5, "");
    } else {
      row.insert(row.end(), {baseline->name, baseline->layer, baseline->mask, baseline->kernel,
                             support::number_text(baseline->difference)});
    }
    add_side(row, baseline == nullptr ? nullptr : &baseline->core);
    add_side(row, baseline == nullptr ? nullptr : &baseline->direct);
    row.push_back(baseline == nullptr ? "" : support::number_text(baseline->forward_speedup));
    const bool both = baseline != nullptr && baseline->backward_speedup;
    row.push_back(both ? support::number_text(*baseline->backward_speedup) : "");
    row.push_back(support::join(notes_of(run), "; "));
    text += csv_line(row);
  }
  return text;
}

}  // namespace headwright::bench

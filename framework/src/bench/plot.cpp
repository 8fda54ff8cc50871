// Draws a benchmark as SVG: logarithmic axes, one line for each config.
#include "bench/plot.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <limits>
#include <set>

#include "headwright/errors.h"
#include "support/text.h"

namespace headwright::bench {
namespace {

struct Series {
  std::string label;
  std::size_t color = 0;                          // of its config
  int dash = 0;                                   // of its pass
  std::vector<std::pair<double, double>> points;  // (tokens, milliseconds)
};

// Told apart also by readers who see few colors, and on white paper. Source: Okabe and Ito 2008.
constexpr std::array kColors{"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"};
constexpr std::array kDashes{"", "7 4", "2 3", "9 3 2 3", "4 2", "1 4"};

constexpr double kWidth = 900, kTop = 46, kLeft = 80, kRight = 560, kBottom = 430, kLine = 20;

std::string number(double value, int digits = 1) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.*f", digits, value);
  return text.data();
}

std::string escaped(const std::string& text) {
  std::string safe;
  for (const char c : text) {
    safe += c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '&' ? "&amp;" : c == '"' ? "&quot;" : std::string(1, c);
  }
  return safe;
}

/// What a run is called in the legend: everything but its length.
std::string group_of(const BenchRun& run, bool batches) {
  auto text = run.name;
  for (const auto& [axis, value] : run.varied) text += ", " + axis.substr(axis.rfind('.') + 1) + " " + value;
  return batches ? text + ", batch " + std::to_string(run.batch_size) : text;
}

class Collection {
 public:
  explicit Collection(const Bench& bench) {
    std::set<std::int64_t> batches;
    for (const auto& run : bench.runs) batches.insert(run.batch_size);
    for (const auto& run : bench.runs) add(run, group_of(run, batches.size() > 1));
    for (auto& one : series_) {
      std::ranges::sort(one.points);
      if (groups_.size() == 1) one.color = static_cast<std::size_t>(one.dash);  // a color for each pass instead
    }
  }
  const std::vector<Series>& series() const { return series_; }

 private:
  void add(const BenchRun& run, const std::string& group) {
    auto known = std::ranges::find(groups_, group);
    if (known == groups_.end()) known = groups_.insert(groups_.end(), group);
    const auto color = static_cast<std::size_t>(known - groups_.begin()) % kColors.size();
    const auto put = [&](const std::string& what, int dash, const BenchPass& pass) {
      const auto label = group + ": " + what;
      auto found = std::ranges::find(series_, label, &Series::label);
      if (found == series_.end()) found = series_.insert(series_.end(), {label, color, dash, {}});
      found->points.emplace_back(static_cast<double>(run.seq_len), 1000 * pass.seconds.median);
    };
    put("forward", 0, run.model.forward);
    if (run.model.backward) put("backward", 1, *run.model.backward);
    if (!run.baseline) return;
    put("attention forward, core", 2, run.baseline->core.forward);
    put("attention forward, " + run.baseline->name, 3, run.baseline->direct.forward);
    if (!run.baseline->core.backward || !run.baseline->direct.backward) return;
    put("attention backward, core", 4, *run.baseline->core.backward);
    put("attention backward, " + run.baseline->name, 5, *run.baseline->direct.backward);
  }

  std::vector<std::string> groups_;
  std::vector<Series> series_;
};

/// A logarithmic axis between two places of the picture.
struct Axis {
  double least, most, begin, end;
  double place(double value) const { return begin + (end - begin) * std::log(value / least) / std::log(most / least); }
};

/// 1, 2, 5, 10, ... within the axis; every power of ten alone where that is too many.
std::vector<double> ticks(const Axis& axis) {
  const bool wide = axis.most / axis.least > 2000;
  std::vector<double> found;
  const auto first = static_cast<int>(std::floor(std::log10(axis.least))),
             last = static_cast<int>(std::log10(axis.most) + 1);
  for (int exponent = first; exponent <= last; ++exponent) {
    const double power = std::pow(10, exponent);
    for (const double step : {1.0, 2.0, 5.0}) {
      const double value = power * step;
      if ((step == 1 || !wide) && value >= axis.least * 0.999 && value <= axis.most * 1.001) found.push_back(value);
    }
  }
  return found;
}

std::string line(double x1, double y1, double x2, double y2, const std::string& style) {
  return "<line x1=\"" + number(x1) + "\" y1=\"" + number(y1) + "\" x2=\"" + number(x2) + "\" y2=\"" + number(y2) +
         "\" " + style + "/>\n";
}

std::string text_at(double x, double y, const std::string& anchor, const std::string& text,
                    const std::string& more = "") {
  return "<text x=\"" + number(x) + "\" y=\"" + number(y) + "\" text-anchor=\"" + anchor + "\"" + more + ">" +
         escaped(text) + "</text>\n";
}

std::string style_of(const Series& series) {
  std::string style = std::string("fill=\"none\" stroke=\"") + kColors[series.color] + "\" stroke-width=\"2\"";
  const std::string dash = kDashes[static_cast<std::size_t>(series.dash)];
  return dash.empty() ? style : style + " stroke-dasharray=\"" + dash + "\"";
}

/// Lengths that stand too close to the one before keep their line and lose their number.
std::string length_axis(const Axis& x, const std::set<double>& lengths) {
  std::string svg;
  double last = -std::numeric_limits<double>::infinity();
  for (const auto length : lengths) {
    const auto at = x.place(length);
    svg += line(at, kTop, at, kBottom, "stroke=\"#dddddd\"");
    const auto label = support::with_thousands(static_cast<std::int64_t>(length));
    const auto width = 8 * static_cast<double>(label.size());
    if (at - last < width) continue;
    svg += text_at(at, kBottom + 18, "middle", label);
    last = at;
  }
  return svg + text_at((kLeft + kRight) / 2, kBottom + 40, "middle", "length (tokens)");
}

std::string time_axis(const Axis& y) {
  std::string svg;
  for (const auto value : ticks(y)) {
    const auto at = y.place(value);
    svg += line(kLeft, at, kRight, at, "stroke=\"#dddddd\"");
    svg += text_at(kLeft - 8, at + 4, "end", support::number_text(std::stod(number(value, value < 1 ? 6 : 0))));
  }
  const double middle = (kTop + kBottom) / 2;
  return svg +
         text_at(22, middle, "middle", "median time (ms)", " transform=\"rotate(-90 22 " + number(middle) + ")\"");
}

std::string curve(const Series& series, const Axis& x, const Axis& y) {
  std::string path, dots;
  for (const auto& [length, time] : series.points) {
    const auto at = number(x.place(length)), height = number(y.place(time));
    path += (path.empty() ? "M" : " L") + at + " " + height;
    dots += "<circle cx=\"" + at + "\" cy=\"" + height + "\" r=\"3\" fill=\"" + kColors[series.color] + "\"/>\n";
  }
  return "<path d=\"" + path + "\" " + style_of(series) + "/>\n" + dots;
}

/// The axes reach somewhat further than the numbers.
std::pair<Axis, Axis> axes_for(const std::vector<Series>& all) {
  const double infinite = std::numeric_limits<double>::infinity();
  double least_x = infinite, most_x = 0, least_y = infinite, most_y = 0;
  for (const auto& series : all) {
    for (const auto& [length, time] : series.points) {
      least_x = std::min(least_x, length), most_x = std::max(most_x, length);
      least_y = std::min(least_y, time), most_y = std::max(most_y, time);
    }
  }
  return {{least_x / 1.1, most_x * 1.1, kLeft, kRight}, {least_y / 1.5, most_y * 1.5, kBottom, kTop}};
}

std::string title_of(const Bench& bench) {
  const auto& run = bench.runs.front();
  return "Cost against length: " + run.dtype + " on " + run.device + ", " + std::to_string(bench.threads) +
         (bench.threads == 1 ? " thread" : " threads");
}

}  // namespace

std::string bench_svg(const Bench& bench) {
  const auto all = Collection(bench).series();
  std::set<double> lengths;
  std::size_t longest = 0;
  for (const auto& series : all) {
    for (const auto& [length, time] : series.points) lengths.insert(length);
    longest = std::max(longest, support::count_characters(series.label));
  }
  if (lengths.size() < 2) throw InputError("a plot needs two lengths or more; give --vary seq_len=512,1024");
  const auto [x, y] = axes_for(all);
  const auto width = std::max(kWidth, kRight + 70 + 7.2 * static_cast<double>(longest));
  const auto height = std::max(kBottom + 60, kTop + kLine * static_cast<double>(all.size()) + 20);
  std::string svg = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + number(width, 0) + "\" height=\"" +
                    number(height, 0) + "\" viewBox=\"0 0 " + number(width, 0) + " " + number(height, 0) +
                    "\" font-family=\"sans-serif\" font-size=\"13\">\n";
  svg += "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n";
  svg += text_at(kLeft, 26, "start", title_of(bench), " font-size=\"16\"");
  svg += length_axis(x, lengths) + time_axis(y);
  svg += "<rect x=\"" + number(kLeft) + "\" y=\"" + number(kTop) + "\" width=\"" + number(kRight - kLeft) +
         "\" height=\"" + number(kBottom - kTop) + "\" fill=\"none\" stroke=\"black\"/>\n";
  double row = kTop + 12;
  for (const auto& series : all) {
    svg += curve(series, x, y);
    svg += line(kRight + 16, row - 4, kRight + 50, row - 4, style_of(series));
    svg += text_at(kRight + 58, row, "start", series.label);
    row += kLine;
  }
  return svg + "</svg>\n";
}

}  // namespace headwright::bench

// The text of --vary.
#include <algorithm>

#include "bench/bench.h"
#include "bench/sizes.h"
#include "headwright/errors.h"
#include "support/text.h"

namespace headwright::bench {
namespace {

constexpr auto kKnownNames = "expected seq_len, batch_size or the path of a config value, such as model.n_heads";

void check_name(const std::string& name, const std::string& where) {
  if (is_size(name) || name.find('.') != std::string::npos) return;
  const std::vector<std::string> names{"seq_len", "batch_size"};
  const auto near = support::nearest(name, names);
  throw InputError(where + "got axis '" + support::printable(name) + "', " + kKnownNames +
                   (near ? "; did you mean '" + *near + "'?" : ""));
}

}  // namespace

BenchAxis bench_axis(const std::string& text) {
  const auto where = "--vary " + support::printable(text) + ": ";
  const auto equals = text.find('=');
  if (equals == std::string::npos) throw InputError(where + "expected NAME=VALUE,VALUE,..., such as seq_len=512,1024");
  BenchAxis axis{text.substr(0, equals), support::split(text.substr(equals + 1), ',')};
  check_name(axis.name, where);
  for (auto value = axis.values.begin(); value != axis.values.end(); ++value) {
    if (value->empty()) throw InputError(where + "got an empty value, expected values apart by commas");
    if (is_size(axis.name)) size_from(*value, where);
    if (std::find(axis.values.begin(), value, *value) != value) {
      throw InputError(where + "got '" + support::printable(*value) + "' twice");
    }
  }
  return axis;
}

std::vector<BenchPoint> combinations(const std::vector<BenchAxis>& axes) {
  constexpr std::size_t kMost = 1000;
  std::vector<BenchPoint> points(1);
  std::vector<std::string> seen;
  for (const auto& axis : axes) {
    if (std::ranges::find(seen, axis.name) != seen.end()) {
      throw InputError("--vary " + support::printable(axis.name) + ": given twice; put all its values into one list");
    }
    seen.push_back(axis.name);
    if (points.size() * axis.values.size() > kMost) {
      throw InputError("--vary: more than " + std::to_string(kMost) + " combinations");
    }
    std::vector<BenchPoint> longer;
    for (const auto& point : points) {
      for (const auto& value : axis.values) {
        longer.push_back(point);
        longer.back().emplace_back(axis.name, value);
      }
    }
    points = std::move(longer);
  }
  return points;
}

}  // namespace headwright::bench

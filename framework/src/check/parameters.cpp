// Properties of the rows: documented, and every value is refused by name or works.
#include <ATen/ATen.h>

#include <cmath>
#include <regex>

#include "bind/values.h"
#include "check/properties.h"
#include "headwright/mask_kinds.h"
#include "registry/registry.h"

namespace headwright::check {
namespace {

std::string_view undocumented(const ParamSpec& row) {
  static const std::regex kName("[a-z][a-z0-9]*(_[a-z0-9]+)*");
  if (!std::regex_match(row.name, kName)) return "its name is not of lower case words joined by _";
  if (row.doc.empty()) return "it has no doc phrase";
  if (row.doc.back() == '.') return "its doc phrase ends in a full stop";
  return "";
}

std::vector<Value> integers(const Limits& limits) {
  std::vector<Value> values;
  for (const std::int64_t number : {-1, 0, 1, 2, 3}) values.push_back({number});
  for (const double edge : {limits.min, limits.max}) {
    if (!std::isfinite(edge) || std::abs(edge) > 1e6) continue;  // too large to build
    for (const double number : {edge - 1, edge, edge + 1}) values.push_back({static_cast<std::int64_t>(number)});
  }
  return values;
}

std::vector<Value> numbers(const Limits& limits) {
  std::vector<Value> values;
  for (const double number : {-1.0, 0.0, 0.5, 1.0, 2.0, limits.min, limits.max}) {
    if (std::isfinite(number)) values.push_back({number});
  }
  return values;
}

std::vector<Value> texts(const Limits& limits) {
  std::vector<Value> values;
  for (const auto choice : limits.choices) {
    if (!choice.empty()) values.push_back({std::string(choice)});
  }
  if (!values.empty()) values.push_back({std::string("no_such_choice")});
  return values;
}

/// Values around the edges of what the row takes, on both sides.
std::vector<Value> candidates(const ParamSpec& row) {
  if (row.is_list) return {};
  switch (row.type) {
    case ParamType::boolean:
      return {{true}, {false}};
    case ParamType::integer:
      return integers(row.limits);
    case ParamType::number:
      return numbers(row.limits);
    case ParamType::text:
      return texts(row.limits);
    case ParamType::mask:
      return {{Mask()}, {Mask::causal()}, {Mask::window(2)}};
    case ParamType::modifiers:
      return {{std::vector{ScoreModifier::softcap(2)}}};
    case ParamType::component:
      break;
  }
  return {};
}

bool refused_by_limits(const ParamSpec& row, const Value& value) {
  if (!std::holds_alternative<std::int64_t>(value.data) && !std::holds_alternative<double>(value.data) &&
      !std::holds_alternative<std::string>(value.data)) {
    return false;
  }
  registry::Registry nothing({});
  bind::Reader reader{nothing, {}};
  return !bind::read_value(reader, row, bind::to_node(value, bind::default_mark()), row.name).has_value();
}

bool refused_by_check(const Subject& subject) {
  Complaints complaints;
  subject.variant.check(subject.dims, subject.values, complaints);
  return !complaints.items().empty();
}

/// How the variant fails with this value; empty = it works.
std::string failure(const Subject& subject) try {
  const auto module = subject.make();
  return all_finite(subject.call(*module, subject.draw(2, subject.longest()))) ? "" : "the output is not finite";
} catch (const std::exception& error) {
  return message_of(error).substr(0, 200);
}

}  // namespace

std::string documented(const Subject& subject) {
  if (subject.variant.summary.empty()) return "no summary";
  if (subject.variant.source.empty()) return "no source";
  if (subject.variant.kind == Kind::attention && subject.claims.cost.empty()) return "the claims state no cost";
  for (const auto& row : subject.variant.params) {
    if (const auto lacking = undocumented(row); !lacking.empty())
      return "parameter '" + row.name + "': " + std::string(lacking);
  }
  return "";
}

std::string every_value_is_refused_or_works(const Subject& subject) {
  for (const auto& row : subject.variant.params) {
    auto values = candidates(row);
    if (row.is_optional) values.emplace_back();  // absent
    for (const auto& value : values) {
      if (refused_by_limits(row, value)) continue;
      const auto changed = subject.with(row.name, value);
      if (refused_by_check(changed)) continue;
      if (const auto how = failure(changed); !how.empty()) {
        return row.name + " = " + bind::to_node(value, bind::default_mark()).text +
               " is not refused, and fails: " + how;
      }
    }
  }
  return "";
}

}  // namespace headwright::check

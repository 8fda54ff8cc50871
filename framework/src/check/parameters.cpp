// Properties of the rows: documented, and every value is refused by name or works.
#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <iterator>
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

/// Assigned and not moved in: gcc 12 takes a moved variant for uninitialised.
template <class T>
void add(std::vector<Value>& values, T value) {
  values.emplace_back().data = std::move(value);
}

std::vector<Value> integers(const Limits& limits) {
  std::vector<Value> values;
  for (const std::int64_t number : {-1, 0, 1, 2, 3}) add(values, number);
  for (const double edge : {limits.min, limits.max}) {
    if (!std::isfinite(edge) || std::abs(edge) > 1e6) continue;  // too large to build
    for (const double number : {edge - 1, edge, edge + 1}) add(values, static_cast<std::int64_t>(number));
  }
  return values;
}

std::vector<Value> numbers(const Limits& limits) {
  std::vector<Value> values;
  for (const double number : {-1.0, 0.0, 0.5, 1.0, 2.0, limits.min, limits.max}) {
    if (std::isfinite(number)) add(values, number);
  }
  return values;
}

std::vector<Value> texts(const Limits& limits) {
  std::vector<Value> values;
  for (const auto choice : limits.choices) {
    if (!choice.empty()) add(values, std::string(choice));
  }
  if (!values.empty()) add(values, std::string("no_such_choice"));
  return values;
}

}  // namespace

/// The empty list, and each value of an element alone in a list.
static std::vector<Value> lists_of(const ParamSpec& row) {
  ParamSpec element = row;
  element.is_list = element.is_optional = false;
  std::vector<Value> lists(1);
  lists[0].data = std::vector<Value>{};
  for (const auto& value : candidates(element)) lists.emplace_back().data = std::vector<Value>(1, value);
  return lists;
}

/// Values around the edges of what the row takes, on both sides.
std::vector<Value> candidates(const ParamSpec& row) {
  if (row.is_list) return lists_of(row);
  switch (row.type) {
    case ParamType::boolean:
      return {{true}, {false}};
    case ParamType::integer:
      return integers(row.limits);
    case ParamType::number:
      return numbers(row.limits);
    case ParamType::text:
      return texts(row.limits);
    case ParamType::number_or_text: {
      auto values = numbers(row.limits);
      std::ranges::move(texts(row.limits), std::back_inserter(values));
      return values;
    }
    case ParamType::mask:
      return {{Mask()}, {Mask::causal()}, {Mask::window(2)}};
    case ParamType::modifiers:
      return {{std::vector{ScoreModifier::softcap(2)}}};
    case ParamType::component:
      break;
  }
  return {};
}

namespace {

bool refused_by_limits(const ParamSpec& row, const Value& value) {
  if (!std::holds_alternative<std::int64_t>(value.data) && !std::holds_alternative<double>(value.data) &&
      !std::holds_alternative<std::string>(value.data) && !std::holds_alternative<std::vector<Value>>(value.data)) {
    return false;
  }
  registry::Registry nothing({});
  bind::Reader reader{nothing, {}};
  return !bind::read_value(reader, row, bind::to_node(value, bind::default_mark()), row.name).has_value();
}

bool refused_by_check(const Subject& subject) {
  Issues issues;
  subject.variant.check(subject.dims, subject.values, issues);
  return !issues.items().empty();
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

bool is_refused(const Subject& subject, const ParamSpec& row, const Value& value) {
  return refused_by_limits(row, value) || refused_by_check(subject.with(row.name, value));
}

std::string every_value_is_refused_or_works(const Subject& subject) {
  for (const auto& row : subject.variant.params) {
    auto values = candidates(row);
    if (row.is_optional) values.emplace_back();  // absent
    for (const auto& value : values) {
      if (is_refused(subject, row, value) || !subject.with(row.name, value).kernel_obstacle().empty()) continue;
      if (const auto how = failure(subject.with(row.name, value)); !how.empty()) {
        return row.name + " = " + bind::text_of(value) + " is not refused, and fails: " + how;
      }
    }
  }
  return "";
}

}  // namespace headwright::check

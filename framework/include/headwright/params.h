// One declaration per parameter: a plain struct with defaults, and fields() that lists its rows.
// Checking of configs, hints, JSON Schema, `runner describe` and the docs all derive from these rows.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "headwright/mask.h"
#include "headwright/modifier.h"

namespace headwright {

/// What a plugin can provide.
enum class Kind { attention, feed_forward, norm, position, embedding, head };
inline constexpr std::array kKinds{Kind::attention, Kind::feed_forward, Kind::norm,
                                   Kind::position,  Kind::embedding,    Kind::head};
HEADWRIGHT_API std::string_view to_string(Kind kind);

struct Value;
struct VariantSpec;

/// Parameter values by name, complete and already checked.
using ParamMap = std::vector<std::pair<std::string, Value>>;

/// A component chosen as the value of a parameter: `attention: {position: {name: rope, base: 10000}}`.
struct Component {
  const VariantSpec* variant = nullptr;  // null = none
  ParamMap values;
  explicit operator bool() const { return variant != nullptr; }
};

/// A parameter's value as it crosses the plugin border. monostate = an optional that is absent.
struct Value {
  std::variant<std::monostate, bool, std::int64_t, double, std::string, std::vector<Value>, Mask,
               std::vector<ScoreModifier>, Component>
      data;
};

enum class ParamType { boolean, integer, number, text, mask, modifiers, component };

/// What a row restricts. Built with at_least(), greater_than(), between(), positive(), less_than(), one_of(),
/// required(), component_of(), joined by |.
struct Limits {
  double min = -std::numeric_limits<double>::infinity();
  double max = std::numeric_limits<double>::infinity();
  bool min_excluded = false;                  // the value must be greater than min
  bool max_excluded = false;                  // the value must be less than max
  bool required = false;                      // has no default: the config must give it
  std::array<std::string_view, 8> choices{};  // of a text; the first empty one ends the list
  Kind kind = Kind::position;                 // of a component
  std::string_view usual{};                   // variant that a component's map means where it has no name
};

constexpr Limits operator|(Limits a, const Limits& b) {
  if (b.min >= a.min) {  // the tighter bound says if it is excluded
    a.min_excluded = b.min_excluded || (b.min == a.min && a.min_excluded);
    a.min = b.min;
  }
  if (b.max <= a.max) {
    a.max_excluded = b.max_excluded || (b.max == a.max && a.max_excluded);
    a.max = b.max;
  }
  a.required |= b.required;
  if (!b.choices[0].empty()) a.choices = b.choices;
  if (b.kind != Kind::position) a.kind = b.kind;
  if (!b.usual.empty()) a.usual = b.usual;
  return a;
}
constexpr Limits at_least(double lowest) { return {.min = lowest}; }
constexpr Limits between(double lowest, double highest) { return {.min = lowest, .max = highest}; }
constexpr Limits greater_than(double lowest) { return {.min = lowest, .min_excluded = true}; }
constexpr Limits less_than(double highest) { return {.max = highest, .max_excluded = true}; }
constexpr Limits positive() { return greater_than(0); }
constexpr Limits probability() { return at_least(0) | less_than(1); }
constexpr Limits required() { return {.required = true}; }
/// usual: the variant that a map without a name means; empty = a map has to name one.
constexpr Limits component_of(Kind kind, std::string_view usual = {}) { return {.kind = kind, .usual = usual}; }
template <class... Text>
constexpr Limits one_of(Text... choice) {
  static_assert(sizeof...(choice) <= 8, "one_of takes at most 8 choices");
  return {.choices = {std::string_view(choice)...}};
}

/// One row, typed: name, member, one phrase with its unit, limits.
template <class P, class T>
struct Field {
  std::string_view name;
  T P::* member;
  std::string_view doc;
  Limits limits;
};

template <class P, class T>
constexpr Field<P, T> field(std::string_view name, T P::* member, std::string_view doc, Limits limits = {}) {
  return {name, member, doc, limits};
}

/// One row with its types erased; this is what crosses the plugin border.
struct ParamSpec {
  std::string name, doc;
  ParamType type = ParamType::boolean;
  bool is_list = false;      // a list of `type`; the limits hold for each element
  bool is_optional = false;  // null, and its default, mean absent
  Value default_value;
  Limits limits;
};

template <class P>
concept Described = std::is_default_constructible_v<P> && requires { P::fields(); };

namespace detail {

template <class T>
struct Shape;  // no definition: a type that a parameter cannot have

template <ParamType type_>
struct Single {
  static constexpr ParamType type = type_;
  static constexpr bool is_list = false, is_optional = false;
};
template <> struct Shape<bool> : Single<ParamType::boolean> {};
template <> struct Shape<std::int64_t> : Single<ParamType::integer> {};
template <> struct Shape<double> : Single<ParamType::number> {};
template <> struct Shape<std::string> : Single<ParamType::text> {};
template <> struct Shape<Mask> : Single<ParamType::mask> {};
template <> struct Shape<std::vector<ScoreModifier>> : Single<ParamType::modifiers> {};
template <> struct Shape<Component> : Single<ParamType::component> {};
template <class T>
struct Shape<std::vector<T>> : Shape<T> {
  static_assert(!Shape<T>::is_list && !Shape<T>::is_optional, "a list holds plain values");
  static constexpr bool is_list = true;
};
template <class T>
struct Shape<std::optional<T>> : Shape<T> {
  static constexpr bool is_optional = true;
};

template <class T>
Value to_value(const T& member) {
  return {member};
}
template <class T>
  requires(Shape<std::vector<T>>::is_list)
Value to_value(const std::vector<T>& list) {
  std::vector<Value> values;
  for (const auto& element : list) values.push_back(Value{static_cast<T>(element)});
  return {std::move(values)};
}
template <class T>
Value to_value(const std::optional<T>& member) {
  return member ? to_value(*member) : Value{};
}

template <class T>
void from_value(const Value& value, T& member) {
  member = std::get<T>(value.data);
}
template <class T>
  requires(Shape<std::vector<T>>::is_list)
void from_value(const Value& value, std::vector<T>& list) {
  list.clear();
  for (const auto& element : std::get<std::vector<Value>>(value.data)) list.push_back(std::get<T>(element.data));
}
template <class T>
void from_value(const Value& value, std::optional<T>& member) {
  if (std::holds_alternative<std::monostate>(value.data)) {
    member.reset();
  } else {
    from_value(value, member.emplace());
  }
}

}  // namespace detail

/// The rows of P, types erased, with the defaults that P{} has.
template <Described P>
std::vector<ParamSpec> specs_of() {
  std::vector<ParamSpec> specs;
  const P defaults{};
  // Owner: P, or a base that P shares with other variants.
  const auto add = [&]<class Owner, class T>(const Field<Owner, T>& row) {
    using S = detail::Shape<T>;
    specs.push_back({.name = std::string(row.name),
                     .doc = std::string(row.doc),
                     .type = S::type,
                     .is_list = S::is_list,
                     .is_optional = S::is_optional,
                     .default_value = detail::to_value(defaults.*row.member),
                     .limits = row.limits});
  };
  std::apply([&](const auto&... row) { (add(row), ...); }, P::fields());
  return specs;
}

/// A P with `values`; rows that `values` leaves out keep their default.
template <Described P>
P params_from(const ParamMap& values) {
  P params{};
  const auto set = [&](const auto& row) {
    for (const auto& [name, value] : values) {
      if (name == row.name) detail::from_value(value, params.*row.member);
    }
  };
  std::apply([&](const auto&... row) { (set(row), ...); }, P::fields());
  return params;
}

}  // namespace headwright

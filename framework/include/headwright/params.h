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

/// A component chosen as the value of a parameter: `attention: {position: {name: rope, theta: 10000}}`.
struct Component {
  const VariantSpec* variant = nullptr;  // null = none
  ParamMap values;
  std::string name;  // of a default: the variant that is looked up, with its own defaults, when a config is read
  explicit operator bool() const { return variant != nullptr; }

  /// A default: `Component norm = Component::named("layer_norm")`.
  static Component named(std::string variant_name);
};

/// A parameter's value as it crosses the plugin border. monostate = an optional that is absent.
struct Value {
  std::variant<std::monostate, bool, std::int64_t, double, std::string, std::vector<Value>, Mask,
               std::vector<ScoreModifier>, Component>
      data;
};

inline Component Component::named(std::string variant_name) { return {.name = std::move(variant_name)}; }

/// The value of this name; null = there is none.
inline const Value* find(const ParamMap& values, std::string_view name) {
  for (const auto& item : values) {
    if (item.first == name) return &item.second;
  }
  return nullptr;
}

enum class ParamType { boolean, integer, number, text, mask, modifiers, component, number_or_text };

/// What a row restricts. Built with at_least(), greater_than(), between(), positive(), less_than(), one_of(),
/// required(), component_of(), same_result(), joined by |.
struct Limits {
  double min = -std::numeric_limits<double>::infinity();
  double max = std::numeric_limits<double>::infinity();
  bool min_excluded = false;                  // the value must be greater than min
  bool max_excluded = false;                  // the value must be less than max
  bool required = false;                      // has no default: the config must give it
  std::array<std::string_view, 8> choices{};  // of a text, beside any number; the first empty one ends the list
  Kind kind = Kind::position;                 // of a component
  std::string_view usual{};                   // variant that a component's map means where it has no name
  bool same_result = false;                   // its values differ in how a result is computed, not in the result
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
  a.same_result |= b.same_result;
  return a;
}
constexpr Limits at_least(double lowest) { return {.min = lowest}; }
constexpr Limits between(double lowest, double highest) { return {.min = lowest, .max = highest}; }
constexpr Limits greater_than(double lowest) { return {.min = lowest, .min_excluded = true}; }
constexpr Limits less_than(double highest) { return {.max = highest, .max_excluded = true}; }
constexpr Limits positive() { return greater_than(0); }
constexpr Limits probability() { return at_least(0) | less_than(1); }
constexpr Limits required() { return {.required = true}; }
/// For a choice between ways to one result, which the conformance kit would else take for an option without effect.
constexpr Limits same_result() { return {.same_result = true}; }
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

template <ParamType type_, bool is_plain_>
struct Single {
  static constexpr ParamType type = type_;
  static constexpr bool is_list = false, is_optional = false;
  static constexpr bool is_plain = is_plain_;  // a list may hold it
  static constexpr bool is_supported = true;
};

/// A type that a parameter cannot have: field() says so, and the rest compiles, so that nothing else is said.
template <class T>
struct Shape : Single<ParamType::boolean, false> {
  static constexpr bool is_supported = false;
};
template <> struct Shape<bool> : Single<ParamType::boolean, true> {};
template <> struct Shape<std::int64_t> : Single<ParamType::integer, true> {};
template <> struct Shape<double> : Single<ParamType::number, true> {};
template <> struct Shape<std::string> : Single<ParamType::text, true> {};
template <> struct Shape<std::variant<double, std::string>> : Single<ParamType::number_or_text, true> {};
template <> struct Shape<Mask> : Single<ParamType::mask, false> {};
template <> struct Shape<std::vector<ScoreModifier>> : Single<ParamType::modifiers, false> {};
template <> struct Shape<Component> : Single<ParamType::component, false> {};
template <class T>
struct Shape<std::vector<T>> : Shape<T> {
  static constexpr bool is_list = true, is_plain = false, is_supported = Shape<T>::is_plain;
};
template <class T>
struct Shape<std::optional<T>> : Shape<T> {
  static constexpr bool is_optional = true, is_plain = false;
  static constexpr bool is_supported = Shape<T>::is_supported && !Shape<T>::is_optional;
};

template <class T>
Value to_value(const T& member) {
  if constexpr (Shape<T>::is_supported) return {member};
  else return {};
}
inline Value to_value(const std::variant<double, std::string>& member) {
  return std::visit([](const auto& value) { return Value{value}; }, member);
}
template <class T>
  requires(Shape<std::vector<T>>::is_list)
Value to_value(const std::vector<T>& list) {
  std::vector<Value> values;
  for (const auto& element : list) values.push_back(to_value(static_cast<T>(element)));
  return {std::move(values)};
}
template <class T>
Value to_value(const std::optional<T>& member) {
  return member ? to_value(*member) : Value{};
}

template <class T>
void from_value(const Value& value, T& member) {
  if constexpr (Shape<T>::is_supported) member = std::get<T>(value.data);
}
inline void from_value(const Value& value, std::variant<double, std::string>& member) {
  if (const auto* number = std::get_if<double>(&value.data)) member = *number;
  else member = std::get<std::string>(value.data);
}
template <class T>
  requires(Shape<std::vector<T>>::is_list)
void from_value(const Value& value, std::vector<T>& list) {
  list.clear();
  for (const auto& element : std::get<std::vector<Value>>(value.data)) {
    T read{};
    from_value(element, read);
    list.push_back(std::move(read));
  }
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

template <class P, class T>
constexpr Field<P, T> field(std::string_view name, T P::* member, std::string_view doc, Limits limits = {}) {
  static_assert(detail::Shape<T>::is_supported,
                "the type of a parameter: expected bool, std::int64_t, double, std::string, "
                "std::variant<double, std::string>, a std::vector of one of these, headwright::Mask, "
                "std::vector<headwright::ScoreModifier>, headwright::Component, or a std::optional of one of these");
  return {name, member, doc, limits};
}

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
    if (const auto* value = find(values, row.name)) detail::from_value(*value, params.*row.member);
  };
  std::apply([&](const auto&... row) { (set(row), ...); }, P::fields());
  return params;
}

}  // namespace headwright

// Checks what a plugin declares: names, rows, defaults within their own limits.
#include "registry/declaration.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <set>

#include "support/text.h"

namespace headwright::registry {
namespace {

using support::number_text;
using support::printable;

/// Letters, digits and underscores, not beginning with a digit: what can be a key in YAML and an option's path.
bool is_identifier(const std::string& name) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  const auto inside = [&](char c) { return letter(c) || (c >= '0' && c <= '9'); };
  return !name.empty() && name.size() <= 64 && letter(name.front()) && std::ranges::all_of(name, inside);
}

std::string name_fault(const std::string& name) {
  if (name.empty()) return "an empty name";
  if (!is_identifier(name)) return "'" + printable(name) + "' is no identifier of at most 64 letters, digits and '_'";
  return "";
}

/// Texts are printed and become JSON.
std::string text_fault(std::initializer_list<std::string_view> texts) {
  for (const auto text : texts) {
    if (support::invalid_utf8(text)) return "the text '" + printable(text) + "' is not UTF-8";
  }
  return "";
}

std::string number_fault(double number, const Limits& limits) {
  const auto is = "its default " + number_text(number) + " is ";
  if (!std::isfinite(number)) return is + "not finite";
  if (number < limits.min) return is + "below its least value " + number_text(limits.min);
  if (number > limits.max) return is + "above its largest value " + number_text(limits.max);
  if (limits.min_excluded && number == limits.min) return is + "not greater than " + number_text(limits.min);
  if (limits.max_excluded && number == limits.max) return is + "not less than " + number_text(limits.max);
  return "";
}

std::string choice_fault(const std::string& text, const Limits& limits) {
  std::vector<std::string> choices;
  for (const auto choice : limits.choices) {
    if (choice.empty()) break;
    choices.emplace_back(choice);
  }
  if (choices.empty() || std::ranges::find(choices, text) != choices.end()) return "";
  return "its default '" + printable(text) + "' is none of its choices: " + support::join(choices, ", ");
}

std::string single_fault(const Value& value, const ParamSpec& param) {
  const auto typed = [&]<class T>(const T* held, auto&& fault) -> std::string {
    return held ? std::string(fault(*held)) : "its default is not of its type";
  };
  const auto anything = [](const auto&) { return ""; };
  const auto as_number = [&](auto number) { return number_fault(static_cast<double>(number), param.limits); };
  const auto as_text = [&](const std::string& text) {
    const auto fault = text_fault({text});
    return fault.empty() ? choice_fault(text, param.limits) : fault;
  };
  switch (param.type) {
    case ParamType::boolean:
      return typed(std::get_if<bool>(&value.data), anything);
    case ParamType::integer:
      return typed(std::get_if<std::int64_t>(&value.data), as_number);
    case ParamType::number:
      return typed(std::get_if<double>(&value.data), as_number);
    case ParamType::text:
      return typed(std::get_if<std::string>(&value.data), as_text);
    case ParamType::number_or_text:
      if (const auto* number = std::get_if<double>(&value.data)) return as_number(*number);
      return typed(std::get_if<std::string>(&value.data), as_text);
    case ParamType::mask:
      return typed(std::get_if<Mask>(&value.data), anything);
    case ParamType::modifiers:
      return typed(std::get_if<std::vector<ScoreModifier>>(&value.data), anything);
    case ParamType::component:
      return typed(std::get_if<Component>(&value.data), [](const Component& component) {
        return component.name.empty() ? "" : name_fault(component.name);  // of a variant that is looked up later
      });
  }
  return "it has a type that this runner does not know";
}

std::string default_fault(const ParamSpec& param) {
  const auto& data = param.default_value.data;
  if (param.is_optional && std::holds_alternative<std::monostate>(data)) return "";
  if (!param.is_list) return single_fault(param.default_value, param);
  const auto* list = std::get_if<std::vector<Value>>(&data);
  if (!list) return "its default is no list";
  for (const auto& element : *list) {
    if (auto fault = single_fault(element, param); !fault.empty()) return fault;
  }
  return "";
}

std::string param_fault(const ParamSpec& param) {
  if (auto fault = name_fault(param.name); !fault.empty()) return fault;
  if (param.name == "name") return "'name' stands for the variant itself";  // parameters stand beside it in YAML
  if (auto fault = text_fault({param.doc}); !fault.empty()) return fault;
  for (const auto choice : param.limits.choices) {
    if (auto fault = text_fault({choice}); !fault.empty()) return fault;
  }
  if (param.type == ParamType::number_or_text && param.limits.choices[0].empty()) {
    return "it takes a number or a text, and names no text; expected one_of(...)";
  }
  const auto& limits = param.limits;
  if (!(limits.min <= limits.max)) {
    return "its least value " + number_text(limits.min) + " is above its largest value " + number_text(limits.max);
  }
  return limits.required ? "" : default_fault(param);  // nobody reads the default of a required one
}

std::string variant_fault(const VariantSpec& spec) {
  if (std::ranges::find(kKinds, spec.kind) == kKinds.end()) return "it is of a kind that this runner does not know";
  if (auto fault = text_fault({spec.summary, spec.source}); !fault.empty()) return fault;
  if (spec.summary.empty() || spec.summary.find('\n') != std::string::npos) return "its summary is not one line";
  if (!spec.claims) return "its function 'claims' is missing";
  if (!spec.check) return "its function 'check' is missing";
  if (!spec.make) return "its function 'make' is missing";
  std::set<std::string> names;
  for (const auto& param : spec.params) {
    const auto fault = names.insert(param.name).second ? param_fault(param) : "the name stands twice";
    if (!fault.empty()) return "parameter '" + printable(param.name) + "': " + fault;
  }
  return "";
}

}  // namespace

std::string declaration_fault(const std::vector<VariantSpec>& specs) {
  if (specs.empty()) return "declares no variant";
  std::set<std::string> names;
  for (const auto& spec : specs) {
    if (auto fault = name_fault(spec.name); !fault.empty()) return "declares a variant with a wrong name: " + fault;
    const auto fault = names.insert(spec.name).second ? variant_fault(spec) : "it is declared twice";
    if (!fault.empty()) return "variant '" + spec.name + "': " + fault;
  }
  return "";
}

}  // namespace headwright::registry

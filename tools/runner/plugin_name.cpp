// Refuses names that would not compile, or that stand for something else.
#include "plugin_name.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <regex>
#include <string_view>

#include "headwright/errors.h"
#include "support/text.h"

namespace headwright::runner {
namespace {

// Of the build's own targets, of the libraries behind it, and of the struct that holds the parameters
constexpr std::array<std::string_view, 14> kTargets{"all",   "c10",       "c10_cuda",   "clean",        "headwright",
                                                    "help",  "install",   "package",    "params",       "test",
                                                    "torch", "torch_cpu", "torch_cuda", "torch_library"};

constexpr std::array<std::string_view, 9> kNoText{"false", "n", "no", "null", "off", "on", "true", "y", "yes"};

constexpr std::array<std::string_view, 97> kKeywords{
    "alignas",      "alignof",       "and",          "and_eq",    "asm",      "atomic_cancel", "auto",     "bitand",
    "bitor",        "bool",          "break",        "case",      "catch",    "char",          "char8_t",  "char16_t",
    "char32_t",     "class",         "co_await",     "co_return", "co_yield", "compl",         "concept",  "const",
    "const_cast",   "consteval",     "constexpr",    "constinit", "continue", "decltype",      "default",  "delete",
    "do",           "double",        "dynamic_cast", "else",      "enum",     "explicit",      "export",   "extern",
    "false",        "final",         "float",        "for",       "friend",   "goto",          "if",       "import",
    "inline",       "int",           "long",         "module",    "mutable",  "namespace",     "new",      "noexcept",
    "not",          "not_eq",        "nullptr",      "operator",  "or",       "or_eq",         "override", "private",
    "protected",    "public",        "register",     "requires",  "return",   "short",         "signed",   "sizeof",
    "static",       "static_assert", "static_cast",  "struct",    "switch",   "synchronized",  "template", "this",
    "thread_local", "throw",         "true",         "try",       "typedef",  "typeid",        "typename", "union",
    "unsigned",     "using",         "virtual",      "void",      "volatile", "wchar_t",       "while",    "xor",
    "xor_eq"};

bool holds(const auto& names, const std::string& name) { return std::ranges::find(names, name) != names.end(); }

/// Why a well-formed name cannot be used; empty = it can.
std::string fault_of(const registry::Registry& registry, const std::string& name) {
  if (holds(kTargets, name)) return "which means something else in a build";
  if (holds(kNoText, name)) return "which YAML does not read as a name";
  if (holds(kKeywords, name)) return "which is a word of C++";
  const auto type = class_name(name);
  if (holds(interface_types(), type)) return "but " + type + " is a type of the interface that plugins include";
  const auto file = registry.file_of(name);
  return file.empty() ? "" : "which " + file + " provides already";
}

}  // namespace

std::string class_name(const std::string& name) {
  std::string result;
  for (const auto& word : support::split(name, '_')) {
    result += static_cast<char>(std::toupper(static_cast<unsigned char>(word[0])));
    result += word.substr(1);
  }
  return result;
}

void expect_free_name(const registry::Registry& registry, const std::string& name) {
  static const std::regex kName("[a-z][a-z0-9]*(_[a-z0-9]+)*");
  const auto shown = "NAME: got '" + support::printable(name) + "', ";
  if (name.size() > 64 || !std::regex_match(name, kName)) {
    throw InputError(shown +
                     "expected at most 64 characters: words of a-z and 0-9 joined by '_', such as my_attention");
  }
  if (const auto fault = fault_of(registry, name); !fault.empty()) {
    throw InputError(shown + fault + "; take another name, such as 'my_" + name + "'");
  }
}

}  // namespace headwright::runner

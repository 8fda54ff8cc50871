// Opens a library, compares its ABI, and takes its variants.
#include "registry/library.h"

#include <boost/core/demangle.hpp>
#include <boost/dll/runtime_symbol_info.hpp>
#include <boost/dll/shared_library.hpp>
#include <map>
#include <memory>
#include <mutex>
#include <sstream>

#include "headwright/abi.h"
#include "headwright/errors.h"
#include "registry/declaration.h"
#include "registry/guarded.h"
#include "registry/seal.h"
#include "support/text.h"

namespace headwright::registry {
namespace {
namespace fs = std::filesystem;
namespace dll = boost::dll;
using dll::load_mode::type;

/// Every library that was ever opened. Never closed, and so never destroyed: modules, exceptions and the functions in a
/// VariantSpec have their code there, and closing one from a static destructor crashes at exit.
struct Table {
  std::mutex mutex;
  std::vector<std::unique_ptr<dll::shared_library>> handles;
  std::map<fs::path, std::vector<VariantSpec>> specs;
};

Table& table() {
  static auto* const on_the_heap = new Table;
  return *on_the_heap;
}

/// What dlopen said, out of "boost::dll::... failed (dlerror system message: FILE: TEXT): Bad file descriptor", with
/// the readable form of a mangled symbol at its end.
std::string loader_text(std::string text, const fs::path& file) {
  constexpr std::string_view kBefore = "dlerror system message: ";
  if (const auto begin = text.find(kBefore); begin != std::string::npos) {
    text = text.substr(begin + kBefore.size(), text.rfind(')') - begin - kBefore.size());
  }
  if (text.starts_with(file.string() + ": ")) text = text.substr(file.string().size() + 2);
  constexpr std::string_view kUndefined = "undefined symbol: ";
  if (const auto at = text.find(kUndefined); at != std::string::npos) {
    const auto symbol = text.substr(at + kUndefined.size());
    const auto readable = boost::core::demangle(symbol.c_str());
    if (readable != symbol) text += " (" + readable + ")";
    text += "; rebuild the plugin with this version of headwright";
  }
  return text;
}

dll::shared_library& open(const fs::path& file, Expected expected, type mode) {
  const auto contents = expected ? contents_of(file) : std::nullopt;
  if (contents && contents->hash != *expected) {  // one that cannot be read is for the loader to tell
    throw Refused("it changed since it was looked at; run again", false);
  }
  auto library = std::make_unique<dll::shared_library>();
  try {
    library->load(file, mode | type::rtld_local);
  } catch (const std::exception& failure) {
    // Not lasting: the cause may be another library that is missing or of another version.
    if (std::string_view(failure.what()).starts_with("boost::dll")) {
      throw Refused(loader_text(failure.what(), file), false);
    }
    throw Refused(std::string("a static constructor threw: ") + failure.what());
  } catch (...) {
    throw Refused("a static constructor threw something that is no std::exception");
  }
  return *table().handles.emplace_back(std::move(library));
}

std::string hexadecimal(std::uint64_t number) {
  std::ostringstream text;
  text << "0x" << std::hex << number;
  return text.str();
}

/// Compares field by field; a field is read only once those before it say that it is there.
void compare(const Greeting& greeting) {
  const auto differs = [](const std::string& theirs, const std::string& ours) {
    throw Refused("built for " + theirs + ", this runner has " + ours + "; rebuild the plugin");
  };
  if (greeting.magic != kMagic) {
    throw Refused("not a headwright plugin: its greeting begins with " + hexadecimal(greeting.magic) + ", expected " +
                  hexadecimal(kMagic));
  }
  if (greeting.struct_size != sizeof(Greeting)) {
    differs("a greeting of " + std::to_string(greeting.struct_size) + " bytes",
            "one of " + std::to_string(sizeof(Greeting)));
  }
  if (greeting.abi_number != kAbiNumber) {
    differs("plugin ABI " + std::to_string(greeting.abi_number), "plugin ABI " + std::to_string(kAbiNumber));
  }
  const std::string_view toolchain = greeting.toolchain ? greeting.toolchain : "an unknown toolchain";
  if (toolchain != HEADWRIGHT_TOOLCHAIN) differs(support::printable(toolchain), HEADWRIGHT_TOOLCHAIN);
  if (!greeting.describe) throw Refused("its greeting has no function 'describe'");
}

const Greeting& greet(dll::shared_library& library, const Stage& entering) {
  entering("it greeted");
  constexpr auto kName = "headwright_greeting";
  if (!library.has(kName)) {
    throw Refused("exports no headwright_greeting; a plugin ends with HEADWRIGHT_PLUGIN(\"name\", Type)");
  }
  const Greeting* greeting = library.get<const Greeting*()>(kName)();
  if (!greeting) throw Refused("its headwright_greeting returned nothing");
  compare(*greeting);
  return *greeting;
}

std::vector<VariantSpec> describe(const Greeting& greeting, const Stage& entering) {
  entering("it described itself");
  std::vector<VariantSpec> specs;
  try {
    greeting.describe(specs);
  } catch (const std::exception& failure) {
    throw Refused(std::string("threw when asked to describe itself: ") + failure.what());
  } catch (...) {
    throw Refused("threw something that is no std::exception when asked to describe itself");
  }
  if (auto fault = declaration_fault(specs); !fault.empty()) throw Refused(fault);
  return specs;
}

void guard(VariantSpec& spec, const fs::path& file) {
  const auto where = file.string() + ": '" + spec.name + "' failed in ";
  spec.claims = [where = where + "claims", inner = spec.claims](const Dims& dims, const ParamMap& values) {
    return guarded(where, [&] { return inner(dims, values); });
  };
  spec.check = [where = where + "check", inner = spec.check](const Dims& dims, const ParamMap& values, Issues& issues) {
    guarded(where, [&] { inner(dims, values, issues); });
  };
  spec.make = [where = where + "make", inner = spec.make](const Dims& dims, const ParamMap& values) {
    auto module = guarded(where, [&] { return inner(dims, values); });
    if (!module) throw PluginError(where + ": returned no module");
    return module;
  };
}

}  // namespace

const std::vector<VariantSpec>& open_library(const fs::path& file, Expected expected, const Stage& entering) {
  auto& open_ones = table();
  const std::scoped_lock lock(open_ones.mutex);
  if (const auto known = open_ones.specs.find(file); known != open_ones.specs.end()) return known->second;
  entering("it was opened");
  auto specs = describe(greet(open(file, expected, type::rtld_now), entering), entering);
  for (auto& spec : specs) guard(spec, file);
  return open_ones.specs.emplace(file, std::move(specs)).first->second;
}

void greet_lazily(const fs::path& file, Expected expected, const Stage& entering) {
  // A library that is already open would stay bound as it is: glibc looks at RTLD_NOW only on the first open. So the
  // strict open comes first, and this one follows where it failed.
  const std::scoped_lock lock(table().mutex);
  entering("it was opened");
  greet(open(file, expected, type::rtld_lazy), entering);
}

fs::path own_library() { return dll::this_line_location(); }

}  // namespace headwright::registry

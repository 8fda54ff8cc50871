#include "registry/registry.h"

#include <algorithm>
#include <tuple>

#include "headwright/errors.h"
#include "registry/elf.h"
#include "registry/library.h"
#include "registry/probe.h"
#include "registry/search.h"
#include "registry/verdict_cache.h"
#include "support/text.h"

namespace headwright::registry {
namespace {
namespace fs = std::filesystem;

/// What is remembered of `file`; else what a look at it says, else what the probe says, which is then remembered.
Verdict judge(const fs::path& file, Cache& cache, Probe& probe) {
  if (const auto known = cache.find(file)) return *known;
  if (auto fault = elf_fault(file); !fault.empty()) return refused(fault);
  auto entry = cache.entry_for(file);
  auto verdict = probe.try_file(file);
  if (entry && verdict.lasting) {
    entry->verdict = verdict;
    cache.add(file, std::move(*entry));
  }
  return verdict;
}

std::string or_none(const std::vector<std::string>& parts, std::string_view none, std::string_view separator = ", ") {
  return parts.empty() ? std::string(none) : support::join(parts, separator);
}

}  // namespace

Registry::Registry(Options options) : options_(std::move(options)) {
  const auto found = find_files(options_.search_path);
  scan(found.files);
  if (!found.faults.empty()) throw PluginError(support::join(found.faults, "\n") + "; " + known_text(std::nullopt));
}

Registry::~Registry() = default;

void Registry::scan(const std::vector<fs::path>& files) {
  Cache cache(options_.cache_folder);
  Probe probe(options_.probe, options_.time_limit);
  for (const auto& file : files) {
    const auto verdict = judge(file, cache, probe);
    if (!verdict.reason.empty()) refused_.push_back({file.string(), verdict.reason});
    for (const auto& [name, kind] : verdict.provides) provided_.push_back({name, kind, file.string()});
  }
  cache.save();
  // By file too, so that the message below does not depend on the order of the search path.
  std::ranges::sort(provided_, {}, [](const Provided& variant) { return std::tie(variant.name, variant.file); });
  const auto twice = std::ranges::adjacent_find(provided_, {}, &Provided::name);
  if (twice != provided_.end()) {
    throw PluginError("two libraries provide '" + twice->name + "': " + twice->file + " and " + std::next(twice)->file +
                      "; take one of them off the plugin path");
  }
  std::ranges::sort(provided_, {}, [](const Provided& variant) { return std::tie(variant.kind, variant.name); });
}

const VariantSpec* Registry::find(std::string_view name) const {
  const auto file = file_of(name);
  if (file.empty()) return nullptr;
  try {
    for (const auto& spec : open_library(file, [](std::string_view) {})) {
      if (spec.name == name) return &spec;
    }
  } catch (const Refused& refusal) {
    throw PluginError(file + ": " + refusal.what());
  }
  throw PluginError(file + ": no longer provides '" + std::string(name) +
                    "': it changed since it was tried; run again");
}

std::vector<const VariantSpec*> Registry::all() {
  std::vector<const VariantSpec*> specs;
  const auto variants = provided_;
  for (const auto& variant : variants) {
    try {
      specs.push_back(find(variant.name));
    } catch (const PluginError& failure) {
      refused_.push_back({variant.file, std::string(failure.what()).substr(variant.file.size() + 2)});
      std::erase_if(provided_, [&](const Provided& other) { return other.name == variant.name; });
    }
  }
  return specs;
}

std::vector<std::string> Registry::names(Kind kind) const {
  std::vector<std::string> names;
  for (const auto& variant : provided_) {
    if (variant.kind == kind) names.push_back(variant.name);
  }
  return names;
}

std::string Registry::file_of(std::string_view name) const {
  const auto found = std::ranges::find(provided_, name, &Provided::name);
  return found == provided_.end() ? "" : found->file;
}

std::string Registry::what_is_known(Kind kind) const { return known_text(kind); }

std::string Registry::known_text(std::optional<Kind> kind) const {
  std::vector<std::string> known, looked, not_used;
  for (const auto& variant : provided_) {
    if (!kind || variant.kind == *kind) known.push_back(variant.name);
  }
  for (const auto& path : options_.search_path) looked.push_back(path.string());
  for (const auto& [file, reason] : refused_) {
    not_used.push_back(file);
    not_used.back().append(" (").append(reason).append(")");
  }
  const auto text = "known: " + or_none(known, "none") + "; looked in: " + or_none(looked, "nowhere");
  return not_used.empty() ? text : text + "; refused: " + support::join(not_used, ", ");
}

}  // namespace headwright::registry

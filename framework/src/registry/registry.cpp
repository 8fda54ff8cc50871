// Joins search path, verdicts and libraries into one list of variants, and loads late.
#include "registry/registry.h"

#include <algorithm>
#include <iterator>
#include <tuple>

#include "headwright/errors.h"
#include "registry/elf.h"
#include "registry/library.h"
#include "registry/probe.h"
#include "registry/search.h"
#include "registry/verdict_cache.h"
#include "support/log.h"
#include "support/text.h"

namespace headwright::registry {
namespace {
namespace fs = std::filesystem;

/// What is remembered of a file with these contents; else what a look at it says, else what the probe says, which is
/// then remembered.
Verdict judge(const fs::path& file, const std::optional<Contents>& contents, const Options& options, Cache& cache,
              Probe& probe) {
  const bool whole = contents && contents->fault.empty() && (contents->sealed || options.allow_unsealed);
  if (whole) {
    if (auto known = cache.find(file, *contents)) return *known;
  }
  if (auto fault = elf_fault(file); !fault.empty()) return refused(fault);
  if (!contents) return refused("cannot be read");
  if (!contents->fault.empty()) return refused(contents->fault);
  if (!whole) {
    return refused("has no seal, by which damage is found; write one with 'runner seal " + file.string() +
                   "', or allow it with HEADWRIGHT_ALLOW_UNSEALED=1");
  }
  auto verdict = probe.try_file(file, contents->hash);
  cache.add(file, *contents, verdict);
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

void Registry::scan(const std::vector<Candidate>& files) {
  Cache cache(options_.cache_folder);
  Probe probe(options_.probe, options_.time_limit);
  for (const auto& [file, named] : files) {
    const auto contents = contents_of(file);
    const auto verdict = judge(file, contents, options_, cache, probe);
    if (!verdict.reason.empty()) refused_.push_back({file.string(), verdict.reason, named});
    if (!contents) continue;
    for (const auto& [name, kind] : verdict.provides) provided_.push_back({name, kind, file.string(), contents->hash});
  }
  cache.save();
  refuse_twins();
  std::ranges::sort(provided_, {}, [](const Provided& variant) { return std::tie(variant.kind, variant.name); });
}

/// Which of the libraries that provide one name is meant, nobody can know: none of them provides it then.
void Registry::refuse_twins() {
  std::map<std::string, std::vector<std::string>> files;
  for (const auto& variant : provided_) files[variant.name].push_back(variant.file);
  for (auto& [name, all] : files) {
    if (all.size() < 2) continue;
    std::ranges::sort(all);  // so that the messages do not depend on the order of the search path
    for (const auto& file : all) {
      std::vector<std::string> others;
      std::ranges::copy_if(all, std::back_inserter(others), [&](const auto& other) { return other != file; });
      refused_.push_back({file, "provides '" + name + "', and so does " + support::join(others, ", ") +
                                    "; take one of them off the plugin path"});
    }
    contested_.emplace(name, (all.size() == 2 ? "two" : std::to_string(all.size())) + " libraries provide '" + name +
                                 "': " + support::join(all, " and ") + "; take one of them off the plugin path");
  }
  std::erase_if(provided_, [&](const Provided& variant) { return contested_.contains(variant.name); });
}

void Registry::expect_asked_for() const {
  std::vector<std::string> failed;
  for (const auto& [file, reason, named] : refused_) {
    auto text = file;
    text.append(": ").append(reason);
    if (named) failed.push_back(text);
    else support::log::warn("plugin refused: " + text);
  }
  if (!failed.empty()) throw PluginError(support::join(failed, "\n"));
}

const VariantSpec* Registry::find(std::string_view name) const {
  if (const auto twins = contested_.find(name); twins != contested_.end()) throw PluginError(twins->second);
  const auto found = std::ranges::find(provided_, name, &Provided::name);
  if (found == provided_.end()) return nullptr;
  const auto& file = found->file;
  try {
    for (const auto& spec : open_library(file, found->hash, [](std::string_view) {})) {
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
  for (const auto& [file, reason, named] : refused_) {
    not_used.push_back(file);
    not_used.back().append(" (").append(reason).append(")");
  }
  const auto text = "known: " + or_none(known, "none") + "; looked in: " + or_none(looked, "nowhere");
  return not_used.empty() ? text : text + "; refused: " + support::join(not_used, ", ");
}

}  // namespace headwright::registry

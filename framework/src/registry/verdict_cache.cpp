// Keeps verdicts by file, hash and build of the framework.
#include "registry/verdict_cache.h"

#include <nlohmann/json.hpp>

#include "headwright/abi.h"
#include "registry/library.h"
#include "support/files.h"
#include "support/log.h"
#include "support/text.h"

namespace headwright::registry {
namespace {
namespace fs = std::filesystem;

constexpr std::size_t kLargestCache = 16 << 20;

/// A verdict holds for one framework: a rebuilt libheadwright may have lost a symbol that a plugin needs.
std::string this_runner() {
  std::error_code ignored;
  const auto size = fs::file_size(own_library(), ignored);
  const auto modified = fs::last_write_time(own_library(), ignored).time_since_epoch().count();
  return HEADWRIGHT_TOOLCHAIN ", ABI " + std::to_string(kAbiNumber) + ", " + std::to_string(size) + " bytes of " +
         std::to_string(modified);
}

nlohmann::json to_json(const Cache::Entry& entry) {
  return {{"hash", entry.hash},
          {"modified", entry.modified},
          {"runner", entry.runner},
          {"verdict", to_json(entry.verdict)}};
}

std::optional<Cache::Entry> entry_from(const nlohmann::json& json) try {
  const auto verdict = verdict_from(json.at("verdict"));
  if (!verdict) return std::nullopt;
  return Cache::Entry{json.at("hash").get<std::uint64_t>(), json.at("modified").get<std::int64_t>(),
                      json.at("runner").get<std::string>(), *verdict};
} catch (const nlohmann::json::exception&) {
  return std::nullopt;
}

}  // namespace

Cache::Cache(const std::optional<fs::path>& folder) {
  if (!folder) return;
  file_ = *folder / "plugin_verdicts.json";
  runner_ = this_runner();
  entries_ = read(*file_);
}

Cache::Entries Cache::read(const fs::path& file) {
  Entries entries;
  std::error_code failed;
  if (!fs::exists(file, failed)) return entries;
  try {
    const auto json = nlohmann::json::parse(support::read_file(file, kLargestCache), nullptr, false);
    if (!json.is_object()) return entries;
    for (const auto& [path, value] : json.items()) {
      if (auto entry = entry_from(value)) entries.emplace(path, std::move(*entry));
    }
  } catch (const std::exception& failure) {
    support::log::debug(std::string("plugin verdicts are not remembered: ") + failure.what());
  }
  return entries;
}

std::optional<Verdict> Cache::find(const fs::path& file, const Contents& contents) const {
  const auto known = entries_.find(file.string());
  if (known == entries_.end()) return std::nullopt;
  const auto& entry = known->second;
  if (entry.runner != runner_ || entry.hash != contents.hash) return std::nullopt;
  if (!entry.verdict.reason.empty() && entry.modified != contents.modified) return std::nullopt;
  return entry.verdict;
}

void Cache::add(const fs::path& file, const Contents& contents, const Verdict& verdict) {
  if (!file_ || !verdict.lasting || support::invalid_utf8(file.string())) return;  // JSON holds UTF-8 alone
  added_.insert_or_assign(file.string(), Entry{contents.hash, contents.modified, runner_, verdict});
}

void Cache::save() {
  if (!file_ || added_.empty()) return;
  auto entries = read(*file_);
  for (const auto& [path, entry] : added_) entries.insert_or_assign(path, entry);
  std::erase_if(entries, [](const auto& item) {
    std::error_code failed;
    return !fs::exists(item.first, failed);
  });
  try {
    write(*file_, entries);
  } catch (const std::exception& failure) {
    support::log::debug(std::string("plugin verdicts are not remembered: ") + failure.what());
  }
  added_.clear();
}

void Cache::write(const fs::path& file, const Entries& entries) {
  auto json = nlohmann::json::object();
  for (const auto& [path, entry] : entries) json[path] = to_json(entry);
  fs::create_directories(file.parent_path());
  support::write_file(file, json.dump(1) + "\n");
}

}  // namespace headwright::registry

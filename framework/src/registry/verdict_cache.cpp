#include "registry/verdict_cache.h"

#include <chrono>
#include <fstream>
#include <nlohmann/json.hpp>
#include <vector>

#include "headwright/abi.h"
#include "registry/library.h"
#include "support/files.h"
#include "support/hash.h"
#include "support/log.h"
#include "support/text.h"

namespace headwright::registry {
namespace {
namespace fs = std::filesystem;

constexpr std::size_t kLargestCache = 16 << 20;

std::optional<FileState> state_of(const fs::path& file) {
  std::error_code failed;
  const auto size = fs::file_size(file, failed);
  if (failed) return std::nullopt;
  const auto modified = fs::last_write_time(file, failed).time_since_epoch();
  if (failed) return std::nullopt;
  return FileState{size, std::chrono::duration_cast<std::chrono::nanoseconds>(modified).count()};
}

std::string hash_of(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  std::vector<char> buffer(1 << 20);
  support::Sha256 digest;
  while (stream.read(buffer.data(), static_cast<std::streamsize>(buffer.size())) || stream.gcount() > 0) {
    digest.add(buffer.data(), static_cast<std::size_t>(stream.gcount()));
  }
  return digest.hex();
}

/// A verdict holds for one framework: a rebuilt libheadwright may have lost a symbol that a plugin needs.
std::string this_runner() {
  const auto build = state_of(own_library()).value_or(FileState{});
  return HEADWRIGHT_TOOLCHAIN ", ABI " + std::to_string(kAbiNumber) + ", " + std::to_string(build.size) + " bytes of " +
         std::to_string(build.modified);
}

nlohmann::json to_json(const Cache::Entry& entry) {
  return {{"size", entry.state.size},
          {"modified", entry.state.modified},
          {"sha256", entry.sha256},
          {"runner", entry.runner},
          {"verdict", to_json(entry.verdict)}};
}

std::optional<Cache::Entry> entry_from(const nlohmann::json& json) try {
  const auto verdict = verdict_from(json.at("verdict"));
  if (!verdict) return std::nullopt;
  const FileState state{json.at("size").get<std::uintmax_t>(), json.at("modified").get<std::int64_t>()};
  return Cache::Entry{state, json.at("sha256").get<std::string>(), json.at("runner").get<std::string>(), *verdict};
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

std::optional<Verdict> Cache::find(const fs::path& file) {
  const auto known = entries_.find(file.string());
  if (known == entries_.end() || known->second.runner != runner_) return std::nullopt;
  auto& entry = known->second;
  const auto state = state_of(file);
  if (!state) return std::nullopt;
  if (*state == entry.state) return entry.verdict;
  if (state->size != entry.state.size || !entry.verdict.reason.empty()) return std::nullopt;
  if (hash_of(file) != entry.sha256) return std::nullopt;
  entry.state = *state;
  added_.insert_or_assign(file.string(), entry);
  return entry.verdict;
}

std::optional<Cache::Entry> Cache::entry_for(const fs::path& file) const {
  if (!file_ || support::invalid_utf8(file.string())) return std::nullopt;  // JSON holds UTF-8 alone
  const auto state = state_of(file);
  if (!state) return std::nullopt;
  return Entry{*state, hash_of(file), runner_, {}};
}

void Cache::add(const fs::path& file, Entry entry) { added_.insert_or_assign(file.string(), std::move(entry)); }

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

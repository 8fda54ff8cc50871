// Verdicts to JSON and back.
#include "registry/verdict.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace headwright::registry {
namespace {

std::optional<Kind> kind_from(const std::string& name) {
  const auto found = std::ranges::find(kKinds, name, [](Kind kind) { return to_string(kind); });
  return found == kKinds.end() ? std::nullopt : std::optional(*found);
}

}  // namespace

Verdict refused(std::string reason, bool lasting) { return {.reason = std::move(reason), .lasting = lasting}; }

nlohmann::json to_json(const Verdict& verdict) {
  auto provides = nlohmann::json::array();
  for (const auto& [name, kind] : verdict.provides) provides.push_back({{"name", name}, {"kind", to_string(kind)}});
  return {{"provides", provides}, {"reason", verdict.reason}, {"lasting", verdict.lasting}};
}

std::optional<Verdict> verdict_from(const nlohmann::json& json) try {
  Verdict verdict{.reason = json.at("reason").get<std::string>(), .lasting = json.at("lasting").get<bool>()};
  for (const auto& item : json.at("provides")) {
    const auto kind = kind_from(item.at("kind").get<std::string>());
    if (!kind) return std::nullopt;
    verdict.provides.push_back({item.at("name").get<std::string>(), *kind});
  }
  // A library gives names or a reason, never both and never neither.
  if (verdict.reason.empty() == verdict.provides.empty()) return std::nullopt;
  return verdict;
} catch (const nlohmann::json::exception&) {
  return std::nullopt;
}

}  // namespace headwright::registry

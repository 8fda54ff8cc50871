#include "exporter/facts.h"

#include <torch/headeronly/version.h>

#include <nlohmann/json.hpp>

#include "headwright/abi.h"
#include "headwright/errors.h"
#include "support/text.h"

namespace headwright::exporter {
namespace {

void read_facts(const std::string& text, Inspection& inspection) {
  const auto facts = nlohmann::json::parse(text);
  inspection.versions = facts.at("versions").get<std::map<std::string, std::string>>();
  inspection.parameters = facts.at("parameters").get<std::int64_t>();
  inspection.dynamic = facts.at("dynamic").get<bool>();
  for (const auto& check : facts.at("checked")) {
    inspection.checked.push_back(
        {check.at("shape").get<std::vector<std::int64_t>>(), check.at("max_abs_error").get<double>()});
  }
}

}  // namespace

std::string facts_text(const Report& report) {
  nlohmann::ordered_json facts{
      {"versions", {{"headwright", HEADWRIGHT_VERSION}, {"torch", TORCH_VERSION}, {"abi", std::to_string(kAbiNumber)}}},
      {"parameters", report.parameters},
      {"dynamic", report.dynamic},
      {"checked", nlohmann::ordered_json::array()}};
  for (const auto& check : report.checked) {
    facts["checked"].push_back({{"shape", check.shape}, {"max_abs_error", check.max_abs_error}});
  }
  return facts.dump(2);
}

void judge(Inspection& inspection, const std::string& carried, const std::string& facts) {
  inspection.valid = carried == inspection.sha256;
  if (!inspection.valid && inspection.detail.empty()) {
    inspection.detail = "the file was changed after it was written: its contents give sha256 " + inspection.sha256 +
                        ", but it carries " + support::printable(carried);
  }
  try {
    read_facts(facts, inspection);
  } catch (const nlohmann::json::exception& error) {
    if (!inspection.valid) return;
    throw InputError(inspection.file + ": found a " + kFacts +
                     " that cannot be understood: " + support::printable(error.what(), 200));
  }
}

}  // namespace headwright::exporter

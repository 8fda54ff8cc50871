// Puts together what a file says about the model, its config and its variants.
#include "exporter/metadata.h"

#include <torch/headeronly/version.h>

#include <nlohmann/json.hpp>

#include "headwright/abi.h"
#include "headwright/errors.h"
#include "support/text.h"

namespace headwright::exporter {
namespace {

void read_metadata(const std::string& text, Inspection& inspection) {
  const auto metadata = nlohmann::json::parse(text);
  inspection.versions = metadata.at("versions").get<std::map<std::string, std::string>>();
  inspection.parameters = metadata.at("parameters").get<std::int64_t>();
  inspection.dynamic = metadata.at("dynamic").get<bool>();
  for (const auto& check : metadata.at("checked")) {
    inspection.checked.push_back(
        {check.at("shape").get<std::vector<std::int64_t>>(), check.at("max_abs_error").get<double>()});
  }
}

}  // namespace

std::string metadata_text(const Report& report) {
  nlohmann::ordered_json metadata{
      {"versions", {{"headwright", HEADWRIGHT_VERSION}, {"torch", TORCH_VERSION}, {"abi", std::to_string(kAbiNumber)}}},
      {"parameters", report.parameters},
      {"dynamic", report.dynamic},
      {"checked", nlohmann::ordered_json::array()}};
  for (const auto& check : report.checked) {
    metadata["checked"].push_back({{"shape", check.shape}, {"max_abs_error", check.max_abs_error}});
  }
  return metadata.dump(2);
}

void judge(Inspection& inspection, const std::string& carried, const std::string& metadata) {
  inspection.valid = carried == inspection.sha256;
  if (!inspection.valid && inspection.detail.empty()) {
    inspection.detail = "the file was changed after it was written: its contents give sha256 " + inspection.sha256 +
                        ", but it carries " + support::printable(carried);
  }
  try {
    read_metadata(metadata, inspection);
  } catch (const nlohmann::json::exception& error) {
    if (!inspection.valid) return;
    throw InputError(inspection.file + ": found a " + kMetadata +
                     " that cannot be understood: " + support::printable(error.what(), 200));
  }
}

}  // namespace headwright::exporter

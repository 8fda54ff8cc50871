// What an export says about itself, beside its weights: the same in every format.
#pragma once
#include <string>

#include "exporter/exporter.h"

namespace headwright::exporter {

// Names of the texts inside a file; in TorchScript as extra files, in safetensors as metadata.
inline constexpr auto kConfig = "config.yaml";        // the resolved config
inline constexpr auto kMetadata = "headwright.json";  // versions, parameters, and what was checked
inline constexpr auto kDigest = "sha256";

std::string metadata_text(const Report& report);

/// Valid if inspection.sha256 is what the file carries; fills in what metadata_text() wrote. Throws InputError where a
/// valid file says something else.
void judge(Inspection& inspection, const std::string& carried, const std::string& metadata);

}  // namespace headwright::exporter

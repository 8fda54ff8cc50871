// What several commands print alike.
#pragma once
#include <string>
#include <vector>

#include "command.h"
#include "exporter/exporter.h"
#include "headwright/attend.h"
#include "headwright/variant.h"
#include "registry/registry.h"

namespace headwright::runner {

Json checks_json(const std::vector<exporter::Check>& checks);
std::string checks_text(const std::vector<exporter::Check>& checks);

Json kernel_json(const KernelChoice& choice);
Json claims_json(const Claims& claims);
std::string claims_text(const Claims& claims, Kind kind);

/// The claims of a variant with its defaults, in a model of ordinary sizes.
Claims usual_claims(const VariantSpec& variant);

/// The variant with this name. Throws InputError with the nearest name, the known ones and what was refused.
const VariantSpec& variant_called(const registry::Registry& registry, const std::string& name);

Json refusals_json(const std::vector<registry::Refusal>& refused);
std::string refusals_text(const std::vector<registry::Refusal>& refused);

}  // namespace headwright::runner

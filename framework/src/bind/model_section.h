// The model section of a config.
#pragma once
#include <string>

#include "bind/plan.h"
#include "bind/reader.h"

namespace headwright::bind {

/// Reads `model`, writes its resolved form. What it returns is complete only if nothing was reported.
ModelPlan read_model(Reader& reader, const spec::Node& node, spec::Node& resolved, const RunPlan& run);

}  // namespace headwright::bind

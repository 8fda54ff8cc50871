// The model section of a config.
#pragma once
#include <string>

#include "bind/plan.h"
#include "bind/reader.h"
#include "bind/walk.h"

namespace headwright::bind {

/// Reads `model`, writes its resolved form. What it returns is complete only if nothing was reported.
ModelPlan read_model(Reader& reader, const spec::Node& node, spec::Node& resolved, const RunPlan& run);

/// What is wrong with an attention that mixes tokens of several documents.
std::string leak_text(const Place& place);

}  // namespace headwright::bind

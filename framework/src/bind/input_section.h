// The run and input sections of a config.
#pragma once
#include "bind/plan.h"
#include "bind/reader.h"

namespace headwright::bind {

RunPlan read_run(Reader& reader, const spec::Node* node, spec::Node& resolved);

/// Reads `input` and checks it against the model: widths, lengths, token ids.
InputPlan read_input(Reader& reader, const spec::Node* node, const ModelPlan& model, spec::Node& resolved);

}  // namespace headwright::bind

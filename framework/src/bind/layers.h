// The layers of a model or of its encoder: the stack that is made of the named blocks.
#pragma once
#include <string>
#include <vector>

#include "bind/plan.h"
#include "bind/reader.h"

namespace headwright::bind {

/// One plan per layer, repeats expanded, widths followed from layer to layer. Variants are asked about their place only
/// if the sizes were read without a fault. sections.front() is what has the blocks: the model, or its encoder.
std::vector<BlockPlan> read_layers(Reader& reader, const Sections& sections, const Dims& dims, bool sizes_sound,
                                   spec::Node& resolved);

}  // namespace headwright::bind

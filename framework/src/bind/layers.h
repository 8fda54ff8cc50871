// model.blocks and model.layers: the named blocks, and the stack made of them.
#pragma once
#include <string>
#include <vector>

#include "bind/plan.h"
#include "bind/reader.h"

namespace headwright::bind {

/// One plan per layer, repeats expanded, widths followed from layer to layer. Variants are asked about their place only
/// if the sizes of the model were read without a fault.
std::vector<BlockPlan> read_layers(Reader& reader, const spec::Node& model, const Dims& dims, bool sizes_sound,
                                   spec::Node& resolved);

/// Asks the variant's own check, and reports each complaint where the parameter or the size stands.
/// node: the component as written; model: the section that holds the sizes.
void check_component(Reader& reader, const Component& component, const Dims& dims, const spec::Node& node,
                     const std::string& path, const spec::Node& model, const spec::Node* block = nullptr,
                     const std::string& block_path = "");

}  // namespace headwright::bind

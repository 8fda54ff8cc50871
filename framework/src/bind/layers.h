// blocks and layers of a model or of its encoder: the named blocks, and the stack made of them.
#pragma once
#include <string>
#include <vector>

#include "bind/plan.h"
#include "bind/reader.h"

namespace headwright::bind {

/// A map of the config and where it stands.
struct Section {
  const spec::Node* node = nullptr;
  std::string path;  // "model", "model.encoder"
};

/// The sections in which a size may stand: the nearest first, the model last.
using Sections = std::vector<Section>;

/// One plan per layer, repeats expanded, widths followed from layer to layer. Variants are asked about their place only
/// if the sizes were read without a fault. sections.front() is what has the blocks: the model, or its encoder.
std::vector<BlockPlan> read_layers(Reader& reader, const Sections& sections, const Dims& dims, bool sizes_sound,
                                   spec::Node& resolved);

/// Asks the variant's own check, and reports each issue where the parameter or the size stands.
/// as_written: the component itself.
void check_component(Reader& reader, const Component& component, const Dims& dims, const Section& as_written,
                     const Sections& sections);

}  // namespace headwright::bind

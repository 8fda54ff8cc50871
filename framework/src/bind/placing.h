// A block at its place in the stack: its sizes, the claims of its variants, and whether they fit there.
#pragma once
#include <string>

#include "bind/blocks.h"
#include "bind/plan.h"
#include "bind/reader.h"

namespace headwright::bind {

/// The plan of `block` where features of `width` come in. stack: the sizes of its section; sections.front() has it.
BlockPlan place_block(Reader& reader, const std::string& name, const Block& block, const Dims& stack,
                      std::int64_t width, Sections sections);

/// Asks the variant's own check, and reports each issue where the parameter or the size stands.
/// as_written: the component itself.
void check_component(Reader& reader, const Component& component, const Dims& dims, const Section& as_written,
                     const Sections& sections);

/// Reports the sizes that `section` gives and that `reads` leaves out. who: those that do not read it.
void check_sizes(Reader& reader, const Section& section, const Sizes& reads, const std::string& who);

/// Its mask tells documents apart, so that they are expected in the input.
bool asks_for_documents(const Component& component);

Sizes both(const Sizes& a, const Sizes& b);

}  // namespace headwright::bind

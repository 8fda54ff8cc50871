// What is computed with where a config leaves an optional parameter out, written into the resolved config.
#pragma once
#include "bind/plan.h"

namespace headwright::bind {

/// The mark of a value that follows from others, and of one that differs between the layers of a block.
spec::Mark computed_mark();
spec::Mark computed_by_layer_mark();

/// resolved: the section `model`, complete. A null becomes the value that the component states for it.
void write_effective(const ModelPlan& model, spec::Node& resolved);

}  // namespace headwright::bind

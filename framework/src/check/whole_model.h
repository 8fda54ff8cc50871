// Properties of whole models, whatever they are made of.
#pragma once
#include <string>

#include "bind/plan.h"

namespace headwright::check {

/// A sequence fed token by token and in uneven pieces equals the same sequence at once, with padding and documents
/// where the model takes them; after rows are reordered, too. How it does not; empty = it does, or the model has no
/// cache.
std::string continues_from_its_cache(const bind::Plan& given);

}  // namespace headwright::check

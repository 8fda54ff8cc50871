// The masks and score modifiers that a config can name, with the same rows that every parameter has.
//
// A config writes a bare name (`causal`), a map (`{window: {size: 128}}`), or, for a kind with a single row, its value
// directly (`{window: 128}`). `all`, `any` (of a list) and `not` (of one mask) combine masks and are no kinds.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "headwright/params.h"

namespace headwright {

struct MaskKind {
  std::string name, doc;
  std::vector<ParamSpec> params;
  std::function<Mask(const ParamMap&)> make;  // of values that are complete and within their limits
};

struct ModifierKind {
  std::string name, doc;
  std::vector<ParamSpec> params;
  std::function<ScoreModifier(const ParamMap&)> make;
};

HEADWRIGHT_API const std::vector<MaskKind>& mask_kinds();
HEADWRIGHT_API const std::vector<ModifierKind>& modifier_kinds();

}  // namespace headwright

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

/// A mask taken apart: mask_kinds() makes it of `values`, or Mask::all, any and negation of `parts`.
struct MaskForm {
  std::string kind;         // of mask_kinds(), or all, any, not; another where no config can write the mask
  ParamMap values;          // complete
  std::vector<Mask> parts;  // of all, any, not
};

struct ModifierForm {
  std::string kind;  // of modifier_kinds(); another where no config can write the modifier
  ParamMap values;
};

HEADWRIGHT_API const std::vector<MaskKind>& mask_kinds();
HEADWRIGHT_API const std::vector<ModifierKind>& modifier_kinds();

}  // namespace headwright

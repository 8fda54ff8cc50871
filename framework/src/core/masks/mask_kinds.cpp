// What a config can name: the kinds of masks, from the table in mask_node.h, and of modifiers.
#include "headwright/mask_kinds.h"

#include "core/masks/mask_node.h"
#include "core/modifiers/modifier_node.h"

namespace headwright {
namespace {

MaskKind full_kind() {
  return {"full", "a query sees every key", specs_of<core::NoParams>(), [](const ParamMap&) { return Mask(); }};
}

}  // namespace

const std::vector<MaskKind>& mask_kinds() {
#define HEADWRIGHT_MADE(name) core::name##_kind(),
  static const std::vector<MaskKind> kinds{full_kind(), HEADWRIGHT_MASK_KINDS(HEADWRIGHT_MADE)};
#undef HEADWRIGHT_MADE
  return kinds;
}

const std::vector<ModifierKind>& modifier_kinds() {
  static const std::vector<ModifierKind> kinds{core::softcap_kind()};
  return kinds;
}

}  // namespace headwright

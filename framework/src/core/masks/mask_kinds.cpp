// The table of what a config can name; a new kind is one row here.
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
  static const std::vector<MaskKind> kinds{
      full_kind(),          core::causal_kind(),   core::window_kind(),      core::band_kind(),
      core::dilated_kind(), core::strided_kind(),  core::block_local_kind(), core::global_kind(),
      core::prefix_kind(),  core::document_kind(), core::key_padding_kind(), core::random_kind()};
  return kinds;
}

const std::vector<ModifierKind>& modifier_kinds() {
  static const std::vector<ModifierKind> kinds{core::softcap_kind()};
  return kinds;
}

}  // namespace headwright

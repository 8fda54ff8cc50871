// Several documents packed into one row: a query sees the keys of its own document.
#include <ATen/ATen.h>

#include "core/masks/mask_node.h"

namespace headwright {
namespace {

class Document final : public MaskNode {
 public:
  at::Tensor visible(const MaskInputs& inputs) const override {
    return inputs.q_documents.defined() ? inputs.q_documents.eq(inputs.k_documents) : at::Tensor();
  }
  MaskForm form() const override { return {.kind = "document"}; }
  bool reads_documents() const override { return true; }
  std::optional<std::int64_t> look_back() const override { return kWithoutBound; }
};

}  // namespace

Mask Mask::document() { return Mask(std::make_shared<Document>()); }

MaskKind core::document_kind() {
  return {"document", "a query sees the keys with its own document id; all without document ids in the input",
          specs_of<NoParams>(), [](const ParamMap&) { return Mask::document(); }};
}

}  // namespace headwright

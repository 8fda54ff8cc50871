#include "exporter/signature.h"

#include "support/text.h"

namespace headwright::exporter {

std::vector<std::string> Signature::names() const {
  std::vector<std::string> names{"x"};
  if (context) names.emplace_back("context");
  if (key_mask) names.emplace_back("key_mask");
  if (context_mask) names.emplace_back("context_mask");
  return names;
}

std::string Signature::declaration() const {
  std::string text = "def forward(self, x";
  if (context) text += ", context";
  if (key_mask) text += ", key_mask: Optional[Tensor] = None";
  if (context_mask) text += ", context_mask: Optional[Tensor] = None";
  return text + "):\n";
}

std::string Signature::arguments(const std::string& x) const {
  auto all = names();
  all.front() = x;
  return support::join(all, ", ");
}

std::vector<at::Tensor> Signature::values(const Inputs& inputs) const {
  std::vector<at::Tensor> values{inputs.x};
  if (context) values.push_back(inputs.context);
  if (key_mask) values.push_back(inputs.key_mask);
  if (context_mask) values.push_back(inputs.context_mask);
  return values;
}

Inputs Signature::inputs(const std::vector<at::Tensor>& values) const {
  Inputs inputs;
  std::size_t next = 0;
  const auto take = [&](bool present, at::Tensor& slot) {
    if (present && next < values.size()) slot = values[next++];
  };
  take(true, inputs.x);
  take(context, inputs.context);
  take(key_mask, inputs.key_mask);
  take(context_mask, inputs.context_mask);
  return inputs;
}

Signature signature_of(const Claims& claims) {
  return {.context = claims.context,
          .key_mask = claims.key_mask && !claims.context,
          .context_mask = claims.key_mask && claims.context};
}

Signature signature_of(const bind::ModelPlan& plan) {
  Signature all;
  for (const auto& block : plan.blocks) {
    if (!block.attention) continue;
    const auto own = signature_of(block.claims);
    all.context |= own.context;
    all.key_mask |= own.key_mask;
    all.context_mask |= own.context_mask;
  }
  return plan.takes_key_mask() ? all : all.without_masks();
}

}  // namespace headwright::exporter

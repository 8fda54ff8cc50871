// The exported form equals the running one at sizes that it was not traced with.
#include <ATen/ATen.h>

#include "check/properties.h"
#include "exporter/script.h"
#include "exporter/verify.h"
#include "headwright/plugin.h"
#include "model/build.h"

namespace headwright::check {
namespace {

constexpr std::int64_t kVocabSize = 11;  // of the tokens that a position is added to

/// An attention of the core, for a position that lives in one.
class Carrier final : public QkvAttention {
 public:
  static constexpr auto kSummary = "attention around a position under test", kSource = "none";
  struct Params : QkvOptions {
    static constexpr auto fields() { return qkv_fields(); }
  };
  static Claims claims(const Dims&, const Params&) { return {.key_mask = true, .core = true, .cost = "O(seq^2)"}; }
  Carrier(const Dims& dims, const Params& params) : QkvAttention(dims, params) {}

 protected:
  at::Tensor mix(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const Inputs& inputs) override {
    return attend(q, k, v, scoring(inputs)).y;  // (batch, n_heads, seq, d_head)
  }
};

/// The smallest model that holds the variant.
bind::Plan plan_around(const Subject& subject) {
  bind::Plan plan{.name = subject.variant.name};
  const Component component{.variant = &subject.variant, .values = subject.values};
  auto& model = plan.model;
  model.dims = subject.dims;
  model.d_out = subject.d_out();
  bind::BlockPlan block{.name = "block", .dims = subject.dims, .claims = subject.claims, .d_out = model.d_out};
  switch (subject.variant.kind) {
    case Kind::attention:
      block.attention = component;
      break;
    case Kind::feed_forward:
      block.feed_forward = component;
      break;
    case Kind::norm:
      model.final_norm = component;
      return plan;
    case Kind::position:
      if (subject.claims.rotate || subject.claims.bias) {
        static VariantSpec carrier;  // outlives the plan; under the name that a message should blame
        carrier = spec_of<Carrier>(subject.variant.name);
        block.attention = {.variant = &carrier, .values = {{"position", Value{component}}}};
        block.claims = carrier.claims(subject.dims, block.attention.values);
        model.d_out = block.d_out = subject.dims.d_model;
        break;
      }
      model.embedding = {.vocab_size = kVocabSize, .position = component};
      return plan;
  }
  model.blocks.push_back(block);
  return plan;
}

}  // namespace

std::string exported(const Subject& subject) try {
  const auto plan = plan_around(subject);
  const auto model = model::build(plan);
  const at::NoGradGuard no_grad;
  const auto longest = subject.longest();
  const exporter::Size traced{2, longest, 5};
  const auto script = exporter::make_script(*model, plan, traced);
  std::vector<exporter::Size> sizes{traced};
  if (subject.claims.dynamic_export) {
    sizes = {{1, 1, 1}, {4, std::min<std::int64_t>(5, longest), 9}, {3, longest, 2}, {1, subject.many(), 3}};
    const auto module = subject.make();
    for (const auto& [batch, seq] : {std::pair<std::int64_t, std::int64_t>{2, 0}, {0, longest}}) {
      if (makes_of_nothing(subject, *module, subject.draw(batch, seq))) sizes.push_back({batch, seq, 3});
    }
  }
  exporter::verify(script, *model, plan, sizes);
  return "";
} catch (const Error& error) {
  return error.what();  // names what differs, and where
}

}  // namespace headwright::check

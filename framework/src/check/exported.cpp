// The exported form equals the running one at sizes that it was not traced with.
#include <ATen/ATen.h>

#include "check/properties.h"
#include "exporter/script.h"
#include "exporter/verify.h"
#include "headwright/plugin.h"
#include "model/build.h"

namespace headwright::check {
namespace {

/// Token ids of the stem around a variant.
std::int64_t vocab_size_of(const Dims& dims) { return dims.vocab_size > 0 ? dims.vocab_size : 11; }

/// An attention of the core, for a position that lives in one.
class Carrier final : public QkvAttention {
 public:
  static constexpr auto kSummary = "attention around a position under test", kSource = "none";
  struct Params : QkvOptions {
    static constexpr auto fields() { return qkv_fields(); }
  };
  static Claims claims(const Dims&, const Params&) {
    return {.key_mask = true, .core = true, .cost = "O(seq^2)", .positions = true};
  }
  Carrier(const Dims& dims, const Params& params) : QkvAttention(dims, params) {}

 protected:
  at::Tensor mix(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const Inputs& inputs) override {
    return attend(q, k, v, scoring(inputs)).y;  // (batch, n_heads, seq, d_head)
  }
};

/// An embedding of tokens, for a position that is added to one, or a head that shares its matrix.
class Stem final : public Embedding {
 public:
  static constexpr auto kSummary = "embedding before a variant under test", kSource = "none";
  struct Params {
    Component position;
    static constexpr auto fields() {
      return std::tuple{field("position", &Params::position, "under test", component_of(Kind::position))};
    }
  };
  static Claims claims(const Dims& dims, const Params& params) {
    return {.positions = static_cast<bool>(params.position), .vocab_size = vocab_size_of(dims), .matrix = true};
  }
  Stem(const Dims& dims, const Params& params)
      : token_(register_module("token", torch::nn::Embedding(vocab_size_of(dims), dims.d_model))),
        position_(make_position(params.position, dims)) {
    if (position_) register_module("position", position_);
  }
  at::Tensor forward(const Inputs& in) override {
    const auto y = token_(in.x);
    return position_ ? position_->embed(y, positions_of(in)) : y;
  }
  at::Tensor matrix() const override { return token_->weight; }

 private:
  torch::nn::Embedding token_;
  std::shared_ptr<Position> position_;
};

bind::Placed placed(const Component& component, const Dims& dims) {
  return {.component = component, .dims = dims, .claims = component.variant->claims(dims, component.values)};
}

/// What is put around a variant, under the name that a message should blame. The variants outlive the plan.
template <class M>
Component around(const std::string& name, const Component& position = {}) {
  static VariantSpec carrier;
  carrier = spec_of<M>(name);
  auto values = ParamMap();
  for (const auto& row : carrier.params) {
    values.emplace_back(row.name, row.name == "position" ? Value{position} : row.default_value);
  }
  return {.variant = &carrier, .values = std::move(values)};
}

/// The smallest model that holds the variant.
bind::Plan plan_around(const Subject& subject) {
  bind::Plan plan{.name = subject.variant.name};
  const Component component{.variant = &subject.variant, .values = subject.values};
  auto& model = plan.model;
  model.dims = subject.dims;
  model.d_out = subject.d_out();
  auto sublayer = component;
  switch (subject.variant.kind) {
    case Kind::attention:
    case Kind::feed_forward:
      break;
    case Kind::norm:
      model.final_norm = placed(component, subject.dims);
      return plan;
    case Kind::embedding:
      model.embedding = placed(component, subject.dims);
      return plan;
    case Kind::head:
      model.head = placed(component, subject.dims);
      if (subject.claims.tied) model.embedding = placed(around<Stem>(subject.variant.name), subject.dims);
      return plan;
    case Kind::position:
      if (subject.claims.embed) {
        model.embedding = placed(around<Stem>(subject.variant.name, component), subject.dims);
        return plan;
      }
      sublayer = around<Carrier>(subject.variant.name, component);
      model.d_out = subject.dims.d_model;
  }
  bind::BlockPlan block{.name = "block", .dims = subject.dims, .d_out = model.d_out};
  auto& step = block.sublayers.emplace_back();
  static_cast<bind::Placed&>(step) = placed(sublayer, subject.dims);
  step.name = to_string(sublayer.variant->kind);
  step.residual = false;
  step.d_out = model.d_out;
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

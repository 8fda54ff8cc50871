// Every shipped variant where numbers are large and where there are none.
#include <gtest/gtest.h>

#include "exporter/script.h"
#include "exporter/verify.h"
#include "headwright/attention.h"
#include "helpers/components.h"
#include "model/build.h"

namespace headwright {
namespace {

/// Of the largest output; rounding may turn which score is the largest, so the farthest tenth of the tokens is left
/// out.
double error_of(const at::Tensor& y, const at::Tensor& exact) {
  const auto of_tokens = std::get<0>((y.to(at::kDouble) - exact).abs().amax(-1).flatten().sort());
  const auto kept = (of_tokens.numel() * 9 + 9) / 10;
  return of_tokens[kept - 1].item<double>() / exact.abs().max().item<double>();
}

void expect_close_in_half_types(const VariantSpec& variant, const ParamMap& values, double size) {
  const Dims dims{.d_model = 64, .n_heads = 2, .n_kv_heads = 2, .d_head = 32, .context_length = 160, .d_memory = 64};
  for (const auto& [dtype, tolerance] : {std::pair{at::kHalf, 1e-2}, {at::kBFloat16, 6e-2}}) {
    at::manual_seed(5);
    const auto module = std::dynamic_pointer_cast<Attention>(variant.make(dims, values));
    module->to(dtype);
    module->eval();
    const auto x = (at::randn({2, 33, 64}) * size).to(dtype);
    const Inputs inputs{.x = x, .memory = variant.claims(dims, values).memory ? x.flip(1) : at::Tensor()};
    const auto y = module->forward(inputs);
    module->to(at::kDouble);  // the rounded parameters
    auto wide = inputs;
    wide.x = x.to(at::kDouble);
    if (wide.memory.defined()) wide.memory = wide.memory.to(at::kDouble);
    const auto exact = module->forward(wide);
    if (exact.abs().max().item<double>() > 6e4) continue;  // float16 has no such number
    EXPECT_TRUE(y.isfinite().all().item<bool>()) << toString(dtype);
    EXPECT_LE(error_of(y, exact), tolerance) << toString(dtype);
  }
}

TEST(Conformance, ScoresBeyondFloat16AreNoOutputsBeyondIt) {
  const at::NoGradGuard no_grad;
  for (const auto* variant : test::shipped_plugins().all()) {
    if (variant->kind != Kind::attention) continue;
    for (const double size : {1.0, 30.0, 1000.0}) {
      SCOPED_TRACE(variant->name + " " + std::to_string(size));
      expect_close_in_half_types(*variant, test::default_values(*variant), size);
    }
  }
}

/// No tokens, and no rows.
const std::vector<exporter::Size> kNothing{{2, 0, 3}, {0, 3, 3}, {0, 0, 0}};

TEST(Conformance, ExportedConfigsMakeOfNothingWhatTheModelMakes) {
  for (const auto& config : test::shipped_configs()) {
    if (config.parent_path().filename() == "models") continue;
    SCOPED_TRACE(config.filename());
    const auto plan = bind::resolve(spec::load(config), test::shipped_plugins());
    const auto model = model::build(plan);
    model->eval();
    const at::NoGradGuard no_grad;
    const auto script = exporter::make_script(*model, plan, {2, 3, 3});
    if (exporter::is_dynamic(plan.model)) {
      EXPECT_NO_THROW(exporter::verify(script, *model, plan, kNothing));
      continue;
    }
    try {  // its fixed shape is stated
      auto module = script.module;
      module.forward({at::zeros({2, 0, plan.model.dims.d_model})});
      FAIL() << "took another shape";
    } catch (const std::exception& error) {
      EXPECT_NE(std::string(error.what()).find("the fixed shape that '"), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace headwright

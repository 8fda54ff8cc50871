// Variants that cannot be exported as they claim, and variants that bring their own TorchScript.
#include "headwright/plugin.h"
#include "unit/exporter/exported.h"

namespace headwright::exporter {
namespace {

using testing::AllOf;
using testing::HasSubstr;

struct NoParams {
  static constexpr auto fields() { return std::tuple{}; }
};

class Base : public Attention {
 public:
  static constexpr auto kSummary = "of a test";
  static constexpr auto kSource = "none";
  using Params = NoParams;
  static Claims claims(const Dims&, const Params&) { return {}; }
  Base(const Dims&, const Params&) {}
};

/// The position of each token, its number written down while tracing.
struct BakesLength : Base {
  using Base::Base;
  at::Tensor forward(const Inputs& in) override { return in.x.cumsum(1) / static_cast<double>(in.x.size(1)); }
};

struct MakesTableOnDevice : Base {
  using Base::Base;
  at::Tensor forward(const Inputs& in) override { return in.x + at::arange(in.x.size(2), in.x.device()); }
};

struct MakesTableAnywhere : Base {
  using Base::Base;
  at::Tensor forward(const Inputs& in) override { return in.x + at::arange(in.x.size(2)); }
};

struct MovesToADevice : Base {
  using Base::Base;
  at::Tensor forward(const Inputs& in) override { return in.x.to(at::kFloat).to(in.x.options()) + 1; }
};

struct KeepsATableToItself : Base {
  KeepsATableToItself(const Dims& dims, const Params& params) : Base(dims, params), table(at::ones({dims.d_model})) {}
  at::Tensor forward(const Inputs& in) override { return in.x * table; }
  at::Tensor table;
};

struct HoldsANumber : Base {
  using Base::Base;
  at::Tensor forward(const Inputs& in) override { return in.x / std::sqrt(3.0) * 2 - at::Scalar(1); }
};

/// Steps over time: no trace can hold the loop.
struct Recurrent : Base {
  using Base::Base;
  static Claims claims(const Dims&, const Params&) { return {.causal = true}; }
  at::Tensor forward(const Inputs& in) override {
    auto state = at::zeros_like(in.x.select(1, 0));
    std::vector<at::Tensor> states;
    for (const auto& x : in.x.unbind(1)) states.push_back(state = state * 0.5 + x);
    return at::stack(states, 1);
  }
  std::string torchscript() const override {
    return "def forward(self, x):\n"
           "    state = torch.zeros_like(x.select(1, 0))\n"
           "    states : List[Tensor] = []\n"
           "    for step in x.unbind(1):\n"
           "        state = state * 0.5 + step\n"
           "        states.append(state)\n"
           "    return torch.stack(states, 1)\n";
  }
};

/// The same loops left to the trace, which unrolls them: with a state from nothing, and with one from the input.
struct LoopsFromZeros : Base {
  using Base::Base;
  at::Tensor forward(const Inputs& in) override {
    auto state = at::zeros({in.x.size(0), in.x.size(2)}, in.x.options());
    std::vector<at::Tensor> states;
    for (std::int64_t t = 0; t < in.x.size(1); ++t) states.push_back(state = (state + in.x.select(1, t)).tanh());
    return at::stack(states, 1);
  }
};

struct LoopsFromX : Base {
  using Base::Base;
  at::Tensor forward(const Inputs& in) override { return Recurrent({}, {}).forward(in); }
};

struct SlicesByNumber : Base {
  using Base::Base;
  at::Tensor forward(const Inputs& in) override { return in.x.slice(1, 0, in.x.size(1)); }
};

/// Throws an int the first time it is run.
struct ThrowsANumber : Base {
  using Base::Base;
  at::Tensor forward(const Inputs&) override { throw 42; }  // NOLINT(bugprone-std-exception-baseclass)
};

template <int kind>
struct WritesWrongly : Base {
  using Base::Base;
  at::Tensor forward(const Inputs& in) override { return in.x; }
  std::string torchscript() const override {
    if (kind == 0) return "def forward(self, x):\n    return self.missing(x)\n";
    if (kind == 1) return "def forward(self, x:\n";
    if (kind == 2) return "def forward(self, x, mask):\n    return x\n";
    if (kind == 3) return "def other(self, x):\n    return x\n";
    return "def forward(self, x):\n    return x + torch.zeros([6])\n";
  }
};

class Refusals : public Exports {
 protected:
  /// A plan whose second layer is M.
  template <class M>
  static bind::Plan with(const char* name) {
    auto plan = test::plan_of(
        "name: two_layers\nmodel:\n  d_model: 6\n  context_length: 16\n  blocks: {only: {order: plain, attention: "
        "simple_self_attention}}\n  layers: [only, only]\ninput: {random: {shape: [2, 5, 6]}}\n");
    auto& sublayer = plan.model.blocks[1].sublayers.front();
    static const VariantSpec spec = spec_of<M>(name);
    sublayer.component = {&spec, {}};
    sublayer.claims = spec.claims(sublayer.dims, {});
    return plan;
  }

  template <class M>
  std::string refusal(const char* name) {
    const auto plan = with<M>(name);
    const auto model = model::build(plan);
    return test::message_of<Error>([&] { write(*model, plan, "torchscript", in("model.pt")); });
  }
};

TEST_F(Refusals, NameTheLayerThatBakesASize) {
  EXPECT_THAT(
      refusal<BakesLength>("bakes_length"),
      AllOf(HasSubstr("blocks.1.attention: 'bakes_length' claims dynamic_export"), HasSubstr("largest difference")));
  EXPECT_FALSE(std::filesystem::exists(in("model.pt")));
}

TEST_F(Refusals, NameWhatTiesALayerToADevice) {
  EXPECT_THAT(refusal<MakesTableOnDevice>("table"),
              AllOf(HasSubstr("blocks.1.attention: 'table'"), HasSubstr("device 'cpu'")));
  EXPECT_THAT(refusal<MakesTableAnywhere>("table"), HasSubstr("aten::arange makes a tensor on the default device"));
  EXPECT_THAT(refusal<MovesToADevice>("moves"), HasSubstr("device 'cpu'"));
  EXPECT_THAT(refusal<KeepsATableToItself>("keeps"), HasSubstr("a tensor (6,) is neither a parameter nor a buffer"));
}

TEST_F(Refusals, NameTheLoopOverTime) {
  EXPECT_THAT(refusal<LoopsFromZeros>("loop"),
              AllOf(HasSubstr("blocks.1.attention: 'loop'"), HasSubstr("loops over the tokens"),
                    HasSubstr("aten::tanh"), HasSubstr("torchscript()")));
  EXPECT_THAT(refusal<LoopsFromX>("loop"), AllOf(HasSubstr("blocks.1.attention: 'loop'"), HasSubstr("aten::mul"),
                                                 HasSubstr("loops over the tokens"), HasSubstr("torchscript()")));
}

TEST_F(Refusals, NameTheOperatorThatTakesASize) {
  EXPECT_THAT(refusal<SlicesByNumber>("slices"), HasSubstr("a size is baked into its forward (aten::slice takes 6)"));
}

TEST_F(Refusals, AFailingForwardIsThePluginsFault) {
  const auto plan = with<ThrowsANumber>("throws");
  const auto model = model::build(plan);
  EXPECT_EQ(test::message_of<PluginError>([&] { write(*model, plan, "torchscript", in("model.pt")); }),
            "blocks.1.attention: 'throws' failed in forward: threw something that is no std::exception");
}

TEST_F(Refusals, SpareNumbers) {
  auto it = exported(with<HoldsANumber>("number"));
  const auto x = at::randn({2, 3, 6});
  EXPECT_TRUE(at::allclose(it.loaded.forward({x}).toTensor(), eager(it, {.x = x})));
}

TEST_F(Refusals, AreNotNeededWhereAVariantWritesItsOwnLoop) {
  auto it = exported(with<Recurrent>("recurrent"));
  EXPECT_TRUE(it.report.dynamic);
  const auto x = at::randn({3, 9, 6});
  EXPECT_TRUE(at::allclose(it.loaded.forward({x}).toTensor(), eager(it, {.x = x}), 1e-5, 1e-6));
}

TEST_F(Refusals, SayWhatIsWrongWithAVariantsText) {
  EXPECT_THAT(refusal<WritesWrongly<0>>("text"),
              AllOf(HasSubstr("blocks.1.attention: 'text'"), HasSubstr("does not compile")));
  EXPECT_THAT(refusal<WritesWrongly<1>>("text"), HasSubstr("does not compile"));
  EXPECT_THAT(refusal<WritesWrongly<2>>("text"), HasSubstr("takes (self, x, mask), expected (self, x) by its claims"));
  EXPECT_THAT(refusal<WritesWrongly<3>>("text"), HasSubstr("defines no forward"));
  EXPECT_THAT(refusal<WritesWrongly<4>>("text"), HasSubstr("aten::zeros makes a tensor on the default device"));
}

TEST_F(Refusals, NameTheNearestFormat) {
  const auto plan = test::plan_of(kGpt);
  const auto model = model::build(plan);
  EXPECT_THAT(test::message_of<InputError>([&] { write(*model, plan, "torch_script", in("x")); }),
              HasSubstr("did you mean 'torchscript'?; known: torchscript, safetensors"));
  EXPECT_EQ(format_for("a.safetensors"), "safetensors");
  EXPECT_EQ(format_for("a.pt"), "torchscript");
  EXPECT_EQ(test::message_of<InputError>([] { format_for("a.onnx"); }),
            "a.onnx: expected a name that ends in .pt or .safetensors, or --format");
}

}  // namespace
}  // namespace headwright::exporter

// Against the attention of torch and of transformers with the same weights: the fixtures in outside/, which
// make_outside.py writes. Outputs and gradients, on every kernel.
#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <limits>
#include <map>

#include "helpers/configs.h"
#include "model/build.h"
#include "support/text.h"
#include "tensor_io/tensor_io.h"

namespace headwright {
namespace {

constexpr std::string_view kFolder = HEADWRIGHT_SOURCE_DIR "/tests/golden/outside/";

/// Relative to the largest value. float64: rounding. float32: rounding, and angles that transformers makes in float32.
double tolerance(at::ScalarType dtype) { return dtype == at::kDouble ? 1e-12 : 1e-5; }

/// A wrong setting is told apart where it is off by far more than rounding.
constexpr double kTellsApart = 1e-3;

/// What make_outside.py says that a file holds.
struct Fixture {
  explicit Fixture(const std::string& name) : config(std::string(kFolder) + name + ".yaml") {
    auto file = tensor_io::read_safetensors(std::string(kFolder) + name + ".safetensors");
    tensors = {file.tensors.begin(), file.tensors.end()};
    wrong = support::split(file.metadata.at("wrong"), '\n');
  }

  /// Undefined where the file has none of this name.
  at::Tensor operator[](const std::string& name) const {
    const auto found = tensors.find(name);
    return found == tensors.end() ? at::Tensor() : found->second;
  }

  bind::Plan plan(const std::vector<std::string>& overrides) const {
    auto root = spec::load(config);
    for (const auto& assignment : overrides) spec::apply_override(root, assignment);
    return bind::resolve(root, test::shipped_plugins());
  }

  std::filesystem::path config;
  std::map<std::string, at::Tensor> tensors;
  std::vector<std::string> wrong;  // settings of the config, each of which makes another layer
};

/// The layer has other parameters than the fixture has weights.
struct OtherParameters : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The layer with the fixture's weights: all of them, and no parameter without one. Throws OtherParameters.
std::shared_ptr<model::Model> layer_of(const Fixture& fixture, const std::vector<std::string>& overrides = {}) {
  auto model = model::build(fixture.plan(overrides));
  const at::NoGradGuard no_grad;
  const auto parameters = model->named_parameters();
  for (const auto& parameter : parameters) {
    const auto value = fixture[parameter.key()];
    if (!value.defined() || value.sizes() != parameter->sizes() || value.scalar_type() != parameter->scalar_type()) {
      throw OtherParameters(fixture.config.string() + ": no fitting weight for " + parameter.key());
    }
    parameter.value().detach().copy_(value);
  }
  for (const auto& [name, tensor] : fixture.tensors) {
    if (name.starts_with("blocks.") && !parameters.contains(name)) {
      throw OtherParameters(fixture.config.string() + ": the layer has no " + name);
    }
  }
  return model;
}

Inputs inputs_of(const Fixture& fixture) {
  Inputs inputs;
  inputs.x = fixture["x"].clone().requires_grad_();
  if (fixture["memory"].defined()) inputs.memory = fixture["memory"].clone().requires_grad_();
  inputs.key_mask = fixture["key_mask"];
  inputs.memory_mask = fixture["memory_mask"];
  return inputs;
}

/// The largest difference, relative to the largest expected value or to 1: some gradients are 0 but for rounding.
double difference(const at::Tensor& got, const at::Tensor& expected) {
  if (got.sizes() != expected.sizes() || got.scalar_type() != expected.scalar_type()) {
    throw std::runtime_error("of another shape or dtype than the fixture's");
  }
  return ((got - expected).abs().max() / expected.abs().max().clamp_min(1)).item<double>();
}

/// Of the rows that are compared.
double difference_of_y(const Fixture& fixture, const at::Tensor& y) {
  const auto seen = fixture["seen"];
  return difference(y.index({seen}), fixture["y"].index({seen}));
}

/// Of y, and of the gradient of each input and parameter, by name.
std::map<std::string, double> differences(const Fixture& fixture, model::Model& model) {
  const auto inputs = inputs_of(fixture);
  const auto y = model.forward(inputs);
  (y * fixture["pull"]).sum().backward();
  std::map<std::string, double> found{{"y", difference_of_y(fixture, y)}};
  const auto add = [&](const std::string& name, const at::Tensor& tensor) {
    if (tensor.defined()) found["grad." + name] = difference(tensor.grad(), fixture["grad." + name]);
  };
  add("x", inputs.x);
  add("memory", inputs.memory);
  for (const auto& parameter : model.named_parameters()) add(parameter.key(), *parameter);
  return found;
}

/// How far off y is under another setting: infinitely where that has other parameters.
double difference_under(const Fixture& fixture, const std::string& setting) {
  try {
    return difference_of_y(fixture, layer_of(fixture, {setting})->forward(inputs_of(fixture)));
  } catch (const OtherParameters&) {
    return std::numeric_limits<double>::infinity();
  }
}

/// Where a reader wants the figures: HEADWRIGHT_SHOW_DIFFERENCES=1.
void show(const std::string& what, double value) {
  if (std::getenv("HEADWRIGHT_SHOW_DIFFERENCES") != nullptr) std::cout << what << ": " << value << "\n";
}

std::vector<std::string> fixture_names() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder)) {
    if (entry.path().extension() == ".yaml") names.push_back(entry.path().stem());
  }
  std::ranges::sort(names);
  return names;
}

class Outside : public testing::TestWithParam<std::string> {};

TEST_P(Outside, ComputesTheSameOnEveryKernel) {
  const Fixture fixture(GetParam());
  const bool core = fixture.plan({}).model.blocks.front().sublayers.front().claims.core;
  for (const std::string kernel : {"auto", "reference", "blockwise"}) {  // auto: sdpa where it can
    if (!core && kernel != "auto") continue;
    SCOPED_TRACE(kernel);
    const auto model = layer_of(fixture, {"run.kernel=" + kernel});
    if (kernel != "auto") {
      EXPECT_EQ(model->blocks.front()->sublayers().front().attention->kernel().effective, kernel);
    }
    double largest = 0;
    for (const auto& [name, off] : differences(fixture, *model)) {
      EXPECT_LE(off, tolerance(fixture["y"].scalar_type())) << name;
      largest = std::max(largest, off);
    }
    show(GetParam() + " " + kernel, largest);
  }
}

TEST_P(Outside, TellsWrongSettingsApart) {
  const Fixture fixture(GetParam());
  ASSERT_FALSE(fixture.wrong.empty());
  for (const auto& setting : fixture.wrong) {
    const auto off = difference_under(fixture, setting);
    EXPECT_GE(off, kTellsApart) << setting;
    show(GetParam() + " with " + setting, off);
  }
}

INSTANTIATE_TEST_SUITE_P(All, Outside, testing::ValuesIn(fixture_names()), [](const auto& name) { return name.param; });

/// Query heads dealt out to key heads in turn: as if head h read key head h mod n_kv_heads.
at::Tensor dealt(const at::Tensor& tensor, std::int64_t dim, const Dims& dims) {
  const auto order = at::arange(dims.n_heads).view({dims.n_kv_heads, -1}).t().reshape(-1);  // 0 2 1 3 of 4 over 2
  return tensor.unflatten(dim, {dims.n_heads, -1}).index_select(dim, order).flatten(dim, dim + 1).contiguous();
}

TEST(OutsideHeads, AnotherMappingOfQueryHeadsToKeyHeadsIsToldApart) {
  int grouped = 0;
  for (const auto& name : fixture_names()) {
    Fixture fixture(name);
    const auto dims = fixture.plan({}).model.dims;
    if (dims.n_kv_heads == 1 || dims.n_kv_heads == dims.n_heads) continue;
    ++grouped;
    for (const auto& [part, dim] : {std::pair{"q_proj.weight", 0}, {"q_proj.bias", 0}, {"out_proj.weight", 1}}) {
      const auto found = fixture.tensors.find(std::string("blocks.0.attention.") + part);
      if (found != fixture.tensors.end()) found->second = dealt(found->second, dim, dims);
    }
    const auto off = difference_of_y(fixture, layer_of(fixture)->forward(inputs_of(fixture)));
    EXPECT_GE(off, kTellsApart) << name;
    show(name + " with heads dealt out", off);
  }
  EXPECT_GE(grouped, 2);
}

}  // namespace
}  // namespace headwright

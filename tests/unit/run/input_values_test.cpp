// Finite numbers that the dtype of a model does not hold.
#include "run/input_values.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>

#include <limits>

#include "helpers/configs.h"
#include "helpers/temporary_folder.h"
#include "run/forward.h"
#include "tensor_io/tensor_io.h"

namespace headwright::run {
namespace {

using testing::HasSubstr;

constexpr auto kLayer = R"(name: layer
model:
  d_model: 2
  n_heads: 1
  blocks: { only: { order: plain, attention: softmax } }
input:
  values: [[[1, 2], [3, VALUE]]]
)";

bind::Plan layer(const std::string& value, const std::string& dtype) {
  std::string yaml = kLayer;
  return test::plan_of(yaml.replace(yaml.find("VALUE"), 5, value), {"run.dtype=" + dtype});
}

struct Case {
  std::string dtype, held, beyond;
};
const std::vector<Case> kCases{{"float32", "3.4e38", "1e300"},
                               {"float32", "-3.4e38", "-3.5e38"},
                               {"float16", "65504", "70000"},
                               {"float16", "-65504", "-65536"},
                               {"bfloat16", "3.3e38", "3.4e38"}};

TEST(InputValues, ThatTheDtypeDoesNotHoldAreRefusedAtTheirPlace) {
  for (const auto& [dtype, held, beyond] : kCases) {
    EXPECT_NO_THROW(expect_values_fit(layer(held, dtype))) << dtype << held;
    const auto message = test::message_of<ConfigError>([&] { expect_values_fit(layer(beyond, dtype)); });
    EXPECT_THAT(message, testing::StartsWith("a.yaml:7:25: input.values.0.1.1: got ")) << dtype << beyond;
    EXPECT_THAT(message, HasSubstr("which " + dtype + " does not hold, expected at most ")) << dtype << beyond;
  }
  EXPECT_NO_THROW(expect_values_fit(layer("1e300", "float64")));
}

TEST(InputValues, OfAMemoryToo) {
  const auto plan = test::shipped_plan("attention/cross_attention.yaml", {"run.dtype=float16"});
  auto changed = plan;
  changed.input.memory = {.from = bind::TensorSource::From::values,
                          .values = {1, 70000},
                          .shape = {1, 1, 2},
                          .mark = {.file = "a.yaml", .line = 3, .column = 4}};
  EXPECT_THAT(test::message_of<ConfigError>([&] { expect_values_fit(changed); }),
              HasSubstr("a.yaml:3:4: input.memory.values.0.0.1: got 70000, which float16 does not hold"));
}

using InputFiles = test::TemporaryFolder;

TEST_F(InputFiles, ThatHoldLargerNumbersAreRefusedByFileAndTensor) {
  const auto x = at::zeros({1, 2, 2}, at::kDouble);
  x[0][1][0] = 1e300;
  tensor_io::write_npy(in("x.npy"), x);
  tensor_io::write_safetensors(in("x.safetensors"), {{"given", x}, {"other", at::zeros({1})}});
  const auto error_of = [&](const std::string& file, const std::string& tensor) {
    auto plan = layer("1", "float32");
    plan.input.x = {.from = bind::TensorSource::From::file,
                    .file = in(file).string(),
                    .tensor = tensor,
                    .mark = {.file = "a.yaml", .line = 1, .column = 1}};
    return test::message_of<InputError>([&] { make_inputs(plan); });
  };
  EXPECT_THAT(error_of("x.npy", ""), HasSubstr("x.npy: at (0, 1, 0): got 1e+300, which float32 does not hold"));
  EXPECT_THAT(error_of("x.safetensors", "given"), HasSubstr("x.safetensors: tensor 'given' at (0, 1, 0): got 1e+300"));
}

TEST_F(InputFiles, MayHoldWhatIsNotFinite) {
  tensor_io::write_npy(in("x.npy"), at::full({1, 2, 2}, std::numeric_limits<double>::infinity(), at::kDouble));
  auto plan = layer("1", "float32");
  plan.input.x = {.from = bind::TensorSource::From::file, .file = in("x.npy").string(), .mark = {.file = "a.yaml"}};
  EXPECT_TRUE(make_inputs(plan).x.isinf().all().item<bool>());
}

}  // namespace
}  // namespace headwright::run

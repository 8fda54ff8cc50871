// Weights as .safetensors, under the names of the model.
#include <nlohmann/json.hpp>

#include "tensor_io/tensor_io.h"
#include "unit/exporter/exported.h"

namespace headwright::exporter {
namespace {

TEST_F(Exports, OfWeightsHoldEveryParameterAndBufferUnderItsName) {
  const auto plan = test::plan_of(layer("attention: causal_attention"));
  const auto model = model::build(plan);
  const auto report = write(*model, plan, "safetensors", in("w.safetensors"));
  EXPECT_EQ(report.format, "safetensors");
  EXPECT_EQ(report.parameters, 3 * 6 * 6);
  const auto read = tensor_io::read_safetensors(in("w.safetensors"));
  EXPECT_EQ(read.tensors.size(), 4U);
  for (const auto& [name, tensor] : read.tensors) {
    const auto* parameter = model->named_parameters().find(name);
    const auto* buffer = model->named_buffers().find(name);
    ASSERT_TRUE(parameter || buffer) << name;
    EXPECT_TRUE(at::equal(tensor, parameter ? *parameter : *buffer)) << name;
  }
}

TEST_F(Exports, OfWeightsHoldATiedTensorOnceAndSayWhatItIs) {
  const auto plan = test::plan_of(kGpt + "run: {dtype: bfloat16}\n");
  const auto model = model::build(plan);
  write(*model, plan, "safetensors", in("w.safetensors"));
  const auto read = tensor_io::read_safetensors(in("w.safetensors"));
  EXPECT_EQ(read.tensors.size() + 1, model->named_parameters().size());
  EXPECT_EQ(nlohmann::json::parse(read.metadata.at("tied")),
            (nlohmann::json{{"head.weight", "embedding.token.weight"}}));
  EXPECT_EQ(read.tensors.front().second.scalar_type(), at::kBFloat16);
}

}  // namespace
}  // namespace headwright::exporter

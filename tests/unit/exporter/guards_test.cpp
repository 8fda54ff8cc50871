// What an exported forward says to a mask or to document ids that do not fit.
#include "exporter/guards.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <torch/csrc/jit/api/module.h>

namespace headwright::exporter {
namespace {

using testing::HasSubstr;

torch::jit::Module guarded(const std::string& name) {
  torch::jit::Module module("guarded");
  module.define("def forward(self, x, " + name + ": Optional[Tensor] = None):\n" + optional_guard(name) +
                "    return x\n");
  return module;
}

/// "" = taken.
std::string refusal(const std::string& name, const at::Tensor& x, const c10::IValue& value) {
  try {
    guarded(name).forward({x, value});
    return "";
  } catch (const std::exception& error) {
    return error.what();
  }
}

TEST(Guards, TakeAMaskOfExactlyBatchAndLengthOrNone) {
  for (const auto rows : {0, 1, 3}) {
    for (const auto& x : {at::zeros({rows, 4, 6}), at::zeros({rows, 4}, at::kLong)}) {
      EXPECT_EQ(refusal("key_mask", x, at::ones({rows, 4}, at::kBool)), "");
      EXPECT_EQ(refusal("key_mask", x, {}), "");
      EXPECT_EQ(refusal("document_ids", x, at::ones({rows, 4}, at::kLong)), "");
    }
  }
}

TEST(Guards, RefuseAMaskOfAnotherDtype) {
  const auto x = at::zeros({2, 4, 6});
  for (const auto dtype : {at::kFloat, at::kDouble, at::kHalf, at::kBFloat16, at::kInt, at::kLong, at::kByte}) {
    EXPECT_THAT(refusal("key_mask", x, at::ones({2, 4}, dtype)),
                HasSubstr("[model] key_mask: expected torch.bool, True = visible; cast it"));
  }
  EXPECT_THAT(refusal("document_ids", x, at::ones({2, 4}, at::kInt)),
              HasSubstr("[model] document_ids: expected torch.int64; cast it"));
  EXPECT_THAT(refusal("positions", x, at::ones({2, 4})), HasSubstr("[model] positions: expected torch.int64; cast it"));
}

TEST(Guards, RefuseAMaskThatWouldBroadcast) {
  const auto x = at::zeros({2, 4, 6});
  for (const auto& shape : std::vector<std::vector<std::int64_t>>{
           {1, 4}, {2, 1}, {4}, {2, 1, 1, 4}, {2, 4, 4}, {2, 5}, {2, 3}, {3, 4}, {0, 4}, {}}) {
    EXPECT_THAT(refusal("key_mask", x, at::ones(shape, at::kBool)), HasSubstr("expected [2, 4], the batch size"));
    for (const std::string ids : {"document_ids", "positions", "token_types"}) {
      EXPECT_THAT(refusal(ids, x, at::ones(shape, at::kLong)), HasSubstr("expected [2, 4], the batch size"));
    }
  }
  EXPECT_THAT(refusal("key_mask", at::zeros({0, 4, 6}), at::ones({1, 4}, at::kBool)), HasSubstr("expected [0, 4]"));
}

}  // namespace
}  // namespace headwright::exporter

// An exported module that is cast after loading computes in the new dtype, as the model would.
#include <torch/nn/modules/linear.h>

#include "exporter/dtypes.h"
#include "exporter/verify.h"
#include "unit/exporter/exported.h"

namespace headwright::exporter {
namespace {

std::string eight_wide(const std::string& block, const std::string& more = "",
                       const std::string& sizes = "n_heads: 2") {
  return "name: one\nmodel:\n  d_model: 8\n  " + sizes + "\n  context_length: 16\n  blocks: {only: {" + block +
         "}}\n  layers: [only]\ninput: {random: {shape: [2, 5, 8]}}\n" + more;
}

class Casts : public Exports {
 protected:
  void expect_equal_in_each_dtype(const std::string& yaml) const {
    const auto it = exported(yaml);
    const auto x = at::randn({3, 7, 8});
    for (const auto dtype : kDtypes) {
      auto loaded = torch::jit::load(in("model.pt").string());
      loaded.to(dtype);
      const InDtype turned(*it.model, dtype);
      const auto got = loaded.forward({x.to(dtype)}).toTensor(), expected = eager(it, {.x = x.to(dtype)});
      EXPECT_EQ(got.scalar_type(), dtype) << yaml;
      // Some units in the last place of the dtype: gated_delta sums in another order than its chunks
      const double limit = dtype == at::kDouble ? 1e-12 : dtype == at::kFloat ? 1e-5 : dtype == at::kHalf ? 5e-3 : 4e-2;
      EXPECT_LE(max_abs_error(got, expected), limit) << yaml << model::dtype_name(dtype);
    }
  }
};

TEST_F(Casts, ComputeInTheNewDtype) {
  for (const std::string attention :
       {"softmax", "{name: softmax, modifiers: [{softcap: 5}]}", "{name: softmax, position: rope}",
        "{name: softmax, position: alibi}", "{name: softmax, position: relative_bias}", "{name: softmax, qk_norm: l2}",
        "retention", "linear", "sigmoid", "additive", "gated_delta", "talking_heads"}) {
    expect_equal_in_each_dtype(eight_wide("order: plain, attention: " + attention));
  }
  expect_equal_in_each_dtype(eight_wide("order: plain, attention: fourier", "", "n_heads: null"));
  expect_equal_in_each_dtype(eight_wide("order: pre_norm, norm: rms_norm, attention: softmax, feed_forward: swiglu"));
}

TEST_F(Casts, FromAHalfTypeToo) {
  expect_equal_in_each_dtype(
      eight_wide("order: plain, attention: {name: softmax, position: rope}", "run: {dtype: bfloat16}\n"));
}

TEST_F(Casts, LeaveTheModelAsItWas) {
  torch::nn::Linear linear(3, 3);
  const auto weight = linear->weight.clone();
  const void* held = linear->weight.data_ptr();
  {
    const InDtype turned(*linear, at::kHalf);
    EXPECT_EQ(linear->weight.scalar_type(), at::kHalf);
  }
  EXPECT_TRUE(at::equal(linear->weight, weight));
  EXPECT_EQ(linear->weight.data_ptr(), held);
}

}  // namespace
}  // namespace headwright::exporter

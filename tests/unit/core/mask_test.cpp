// Masks, alone and joined, show the keys that their definitions say.
#include "headwright/mask.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/kernels/kernel.h"

namespace headwright {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

at::Tensor drawn(const Mask& mask, std::int64_t q_len, std::int64_t k_len, const at::Tensor& key_mask = {}) {
  const auto q = at::zeros({1, 1, q_len, 2}), k = at::zeros({1, 1, k_len, 2});
  const auto visible = mask.visible(core::mask_inputs(q, k, {.key_mask = key_mask}));
  return visible.defined() ? visible.expand({1, 1, q_len, k_len}).squeeze(0).squeeze(0) : visible;
}

TEST(Mask, CausalIsAlignedToTheEndOfTheKeys) {
  EXPECT_TRUE(drawn(Mask::causal(), 1, 5).all().item<bool>());  // the only query is the last token
  EXPECT_TRUE(drawn(Mask::causal(), 4, 4).equal(at::ones({4, 4}, at::kBool).tril()));
  EXPECT_TRUE(drawn(Mask::causal(), 4, 2).equal(at::ones({4, 2}, at::kBool).tril(-2)));  // the first two see nothing
}

TEST(Mask, ALateQuerySeesExactlyAsManyKeysAsTheWindowSays) {
  for (const std::int64_t size : {1, 3, 7, 100}) {
    const auto visible = drawn(Mask::window(size), 20, 20);
    EXPECT_EQ(visible[19].sum().item<std::int64_t>(), std::min<std::int64_t>(size, 20));
    EXPECT_TRUE(visible[19][19].item<bool>());
    EXPECT_EQ(visible.triu(1).sum().item<std::int64_t>(), 0) << "a window hides the future";
  }
}

TEST(Mask, WithoutAKeyMaskPaddingHidesNothing) {
  EXPECT_FALSE(drawn(Mask::key_padding(), 2, 3).defined());
  const auto key_mask = at::tensor({1, 0, 1}, at::kByte).to(at::kBool).unsqueeze(0);
  EXPECT_TRUE(drawn(Mask::key_padding(), 2, 3, key_mask).equal(key_mask.expand({2, 3})));
}

TEST(Mask, ProvesFromItsStructureThatTheFutureIsHidden) {
  const auto causal = Mask::causal(), window = Mask::window(2), padding = Mask::key_padding();
  const auto later = Mask::negation(causal);
  for (const auto& mask :
       {causal, window, Mask::all({padding, window}), Mask::any({causal, window}), Mask::negation(later),
        Mask::negation(Mask()), Mask::negation(Mask::any({later, padding}))}) {
    EXPECT_TRUE(mask.hides_future()) << mask.to_string();
  }
  for (const auto& mask : {Mask(), padding, later, Mask::any({causal, padding}), Mask::negation(window),
                           Mask::negation(padding), Mask::negation(Mask::all({later, padding}))}) {
    EXPECT_FALSE(mask.hides_future()) << mask.to_string();
  }
}

TEST(Mask, WhatIsProvedIsTrueOfTheDrawnMask) {
  const auto causal = Mask::causal(), window = Mask::window(2);
  const auto later = Mask::negation(causal);
  for (const auto& mask : {causal, window, Mask::any({causal, window}), Mask::all({later, window}),
                           Mask::negation(later), Mask::negation(Mask::any({later, window}))}) {
    if (!mask.hides_future()) continue;
    EXPECT_EQ(drawn(mask, 6, 6).triu(1).sum().item<std::int64_t>(), 0) << mask.to_string();
  }
}

TEST(Mask, PartsThatSeeEverythingDropOut) {
  EXPECT_TRUE(Mask::all({}).sees_everything());
  EXPECT_TRUE(Mask::all({Mask(), Mask()}).sees_everything());
  EXPECT_TRUE(Mask::all({Mask(), Mask::causal()}).is_causal());
  EXPECT_TRUE(Mask::any({Mask(), Mask::causal()}).sees_everything());
  EXPECT_FALSE(Mask::all({Mask::causal(), Mask::key_padding()}).is_causal());
}

TEST(Mask, ReadsAsOneWouldWriteIt) {
  EXPECT_EQ(
      Mask::all({Mask::causal(), Mask::any({Mask::window(128), Mask::negation(Mask::key_padding())})}).to_string(),
      "all(causal, any(window(128), not(key_padding)))");
  EXPECT_EQ(Mask().to_string(), "full");
}

TEST(Mask, RefusesAWindowOfNothingAndAnEmptyAny) {
  EXPECT_THAT([] { Mask::window(0); }, ThrowsMessage<Error>(HasSubstr("got size = 0, expected at least 1")));
  EXPECT_THAT([] { Mask::any({}); }, ThrowsMessage<Error>(HasSubstr("got no parts")));
}

TEST(MaskKinds, EachKindIsMadeFromItsRows) {
  std::vector<std::string> made;
  for (const auto& kind : mask_kinds()) {
    EXPECT_FALSE(kind.doc.empty()) << kind.name;
    ParamMap values;
    for (const auto& row : kind.params) {
      EXPECT_FALSE(row.doc.empty()) << kind.name << "." << row.name;
      values.emplace_back(row.name, Value{std::int64_t{3}});
    }
    made.push_back(kind.make(values).to_string());
  }
  EXPECT_THAT(made,
              ElementsAre("full", "causal", "window(3)", "band(3, 3)", "dilated(3, 3)", "strided(3)", "block_local(3)",
                          "global(3)", "prefix(3)", "document", "key_padding", "random(3, 3, 3)"));
}

TEST(ModifierKinds, EachKindIsMadeFromItsRows) {
  ASSERT_EQ(modifier_kinds().size(), 1U);
  EXPECT_EQ(modifier_kinds()[0].make({{"cap", Value{30.0}}}).to_string(), "softcap(30)");
}

}  // namespace
}  // namespace headwright

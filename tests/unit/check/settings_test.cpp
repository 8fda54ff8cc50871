// The parameters and sizes that `runner check --set` names, read by the rules of a config.
#include "check/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "headwright/errors.h"
#include "helpers/temporary_folder.h"
#include "helpers/variants.h"

namespace headwright {
namespace {

using ::testing::HasSubstr;

check::Settings read(const std::string& name, const std::vector<std::string>& assignments) {
  return check::read_settings(test::variant(name), test::shipped_plugins(), assignments);
}

std::string problems(const std::string& name, const std::vector<std::string>& assignments) {
  return test::message_of<ConfigError>([&] { read(name, assignments); });
}

template <class T>
T value(const check::Settings& settings, const std::string& row) {
  const auto* value = find(settings.values, row);
  if (value == nullptr) throw std::runtime_error(row + ": no such row");
  return std::get<T>(value->data);
}

TEST(CheckSettings, AreTheDefaultsWhereNothingIsGiven) {
  const auto settings = read("softmax", {});
  EXPECT_EQ(settings.dims.d_model, 8);
  EXPECT_EQ(settings.dims.n_heads, 2);
  EXPECT_EQ(settings.dims.n_kv_heads, 2);
  EXPECT_EQ(settings.dims.d_head, 4);
  EXPECT_EQ(settings.dims.context_length, 160);
  EXPECT_EQ(settings.dims.d_memory, 8);
  EXPECT_EQ(settings.values.size(), test::variant("softmax").params.size());
  EXPECT_EQ(value<double>(settings, "dropout"), 0);
}

TEST(CheckSettings, HoldParametersOfTheVariantAndSizesOfAModel) {
  const auto settings = read("softmax", {"dropout=0.25", "d_model=12", "n_heads=6", "n_kv_heads=3",
                                         "context_length=null", "mask={all: [causal, {window: {size: 3}}]}"});
  EXPECT_EQ(value<double>(settings, "dropout"), 0.25);
  EXPECT_EQ(value<Mask>(settings, "mask").to_string(), "all(causal, window(3))");
  EXPECT_EQ(settings.dims.d_model, 12);
  EXPECT_EQ(settings.dims.n_kv_heads, 3);
  EXPECT_EQ(settings.dims.d_head, 2);
  EXPECT_EQ(settings.dims.context_length, 0);
}

TEST(CheckSettings, NameEveryProblemWithItsPlace) {
  const auto text = problems("softmax", {"dropuot=0.5", "n_heads=two", "dropout=1.5"});
  EXPECT_THAT(text, HasSubstr("--set dropuot=0.5:1:1: dropuot: unknown parameter of 'softmax', and no size (known: "));
  EXPECT_THAT(text, HasSubstr("did you mean 'dropout'?"));
  EXPECT_THAT(text, HasSubstr("--set n_heads=two:1:9: n_heads: got two, expected an integer"));
  EXPECT_THAT(text,
              HasSubstr("--set dropout=1.5:1:9: dropout: got 1.5, expected a number of at least 0 and less than 1"));
}

TEST(CheckSettings, HintAtTheNamesThatOtherLibrariesUse) {
  EXPECT_THAT(problems("softmax", {"num_heads=4"}), HasSubstr("did you mean 'n_heads'?"));
}

TEST(CheckSettings, HoldToTheRulesOfTheVariant) {
  EXPECT_THAT(problems("softmax", {"n_heads=4", "n_kv_heads=3"}),
              HasSubstr("--set n_heads=4:1:9: n_heads: got 4, but n_kv_heads = 3 does not divide it"));
  EXPECT_THAT(problems("softmax", {"n_kv_heads=3"}), HasSubstr("--set: n_heads: got 2, but n_kv_heads = 3"));
}

TEST(CheckSettings, RefuseAKernelThatIsUnknownOrWithoutEffect) {
  EXPECT_EQ(read("softmax", {"kernel=reference"}).dims.kernel, "reference");
  EXPECT_THAT(problems("softmax", {"kernel=referense"}), HasSubstr("did you mean 'reference'?"));
  EXPECT_THAT(problems("simple_self_attention", {"kernel=reference"}), HasSubstr("kernel: has no effect"));
}

}  // namespace
}  // namespace headwright

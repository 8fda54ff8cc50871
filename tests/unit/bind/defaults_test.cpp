// Defaults that are masks, modifiers and components: shown as they are, and null means none.
#include <gmock/gmock.h>

#include "bind/schema.h"
#include "bind/values.h"
#include "headwright/mask_kinds.h"
#include "helpers/configs.h"
#include "spec/emit.h"

namespace headwright::bind {
namespace {

using testing::AllOf;
using testing::HasSubstr;

registry::Registry& fixtures() {
  static registry::Registry registry({.search_path = {HEADWRIGHT_BUILD_DIR "/tests/plugins/defaults"},
                                      .probe = HEADWRIGHT_BUILD_DIR "/runner",
                                      .cache_folder = HEADWRIGHT_BUILD_DIR "/tests/cache"});
  return registry;
}

std::string config(const std::string& feed_forward) {
  return "name: a\nmodel: {d_model: 4, blocks: {only: {order: plain, feed_forward: " + feed_forward + "}}}\n";
}

Plan resolved(const std::string& text) { return resolve(spec::parse(text, "a.yaml"), fixtures()); }

const ParamMap& values_of(const Plan& plan) { return plan.model.blocks.at(0).sublayers.at(0).component.values; }

std::string default_of(const std::string& name) {
  for (const auto& row : fixtures().find("rich_defaults")->params) {
    if (row.name == name) return default_text(row);
  }
  return "no such row";
}

TEST(Defaults, AreShownAsOneWouldWriteThem) {
  EXPECT_EQ(default_of("mask"), "{any: [{all: [causal, {window: 128}]}, {not: {band: {right: 2}}}]}");
  EXPECT_EQ(default_of("modifiers"), "[{softcap: 30}]");
  EXPECT_EQ(default_of("norm"), "norm_with_eps");
  EXPECT_EQ(default_of("scale"), "sqrt_d_model");
  EXPECT_EQ(default_of("text"), "\"yes\"");
  const auto rows = schema(fixtures())["definitions"]["feed_forward"].dump();
  EXPECT_THAT(rows, AllOf(HasSubstr(R"("default":{"any":[{"all":["causal",{"window":128}]},{"not")"),
                          HasSubstr(R"("default":[{"softcap":30}])"), HasSubstr(R"("default":"norm_with_eps")")));
}

TEST(Defaults, StandInTheResolvedConfigWhichReadsBackEqual) {
  const auto plan = resolved(config("rich_defaults"));
  const auto text = spec::emit(plan.resolved);
  EXPECT_THAT(text, AllOf(HasSubstr("norm:\n          name: norm_with_eps\n          eps: 1e-05"),
                          HasSubstr("- softcap: 30"), HasSubstr("scale: sqrt_d_model")));
  const auto again = resolved(text);
  EXPECT_EQ(spec::emit(again.resolved), text);
  EXPECT_EQ(std::get<Mask>(find(values_of(again), "mask")->data).to_string(),
            std::get<Mask>(find(values_of(plan), "mask")->data).to_string());
  const auto& norm = std::get<Component>(find(values_of(plan), "norm")->data);
  ASSERT_TRUE(norm);
  EXPECT_EQ(std::get<double>(find(norm.values, "eps")->data), 1e-5);
}

TEST(Defaults, NullMeansNoneWhateverTheDefaultIs) {
  const auto plan = resolved(config("{name: rich_defaults, mask: null, norm: null, modifiers: []}"));
  EXPECT_TRUE(std::get<Mask>(find(values_of(plan), "mask")->data).sees_everything());
  EXPECT_FALSE(std::get<Component>(find(values_of(plan), "norm")->data));
  EXPECT_TRUE(std::get<std::vector<ScoreModifier>>(find(values_of(plan), "modifiers")->data).empty());
}

std::string problems_of(const std::string& feed_forward) {
  try {
    resolved(config(feed_forward));
    return "";
  } catch (const ConfigError& error) {
    return error.what();
  }
}

TEST(Defaults, NameAVariantThatIsLookedUp) {
  EXPECT_THAT(problems_of("unknown_default"),
              HasSubstr("a.yaml:2:65: model.blocks.only.feed_forward.norm: no norm is called 'no_such_norm'; known"));
  EXPECT_EQ(problems_of("{name: unknown_default, norm: norm_with_eps}"), "");
  EXPECT_THAT(problems_of("names_itself"), HasSubstr("name each other without end; name one here"));
  EXPECT_EQ(problems_of("{name: names_itself, inner: null}"), "");
}

/// Every kind with 3 for each number, and combinations of them.
std::vector<Mask> masks() {
  std::vector<Mask> masks{Mask::negation(Mask()), Mask::band(2, {}), Mask::band({}, 1)};
  for (const auto& kind : mask_kinds()) {
    ParamMap values;
    for (const auto& row : kind.params) values.emplace_back(row.name, Value{std::int64_t{3}});
    masks.push_back(kind.make(values));
  }
  masks.push_back(Mask::any({Mask::all({masks[3], masks[5], masks[7]}), Mask::negation(masks[6])}));
  masks.push_back(Mask::any(std::vector<Mask>(masks.begin() + 4, masks.end())));
  return masks;
}

TEST(Defaults, EveryMaskReadsBackEqual) {
  for (const auto& mask : masks()) {
    const auto node = mask_node(mask, default_mark());
    if (mask.sees_everything()) {
      EXPECT_EQ(spec::emit_flow(node), "null");
      continue;
    }
    Reader reader{fixtures(), {}};
    const auto read = read_mask(reader, spec::parse("mask: " + spec::emit_flow(node), "a.yaml").entries[0].value, "");
    ASSERT_TRUE(read) << spec::emit_flow(node);
    EXPECT_EQ(read->to_string(), mask.to_string());
    EXPECT_EQ(spec::emit_flow(mask_node(*read, default_mark())), spec::emit_flow(node));
  }
}

}  // namespace
}  // namespace headwright::bind

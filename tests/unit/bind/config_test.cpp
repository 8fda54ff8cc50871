// A config is loaded, changed and resolved, and tells where its values stand.
#include "bind/config.h"

#include <gmock/gmock.h>

#include "helpers/configs.h"
#include "helpers/temporary_folder.h"

namespace headwright::bind {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Pair;

constexpr auto kText = R"(name: a
model:
  d_model: 4
  n_heads: 2
  blocks: { only: { order: plain, attention: softmax } }
input: { values: [[[1, 2, 3, 4]]] }
)";

class Configs : public test::TemporaryFolder {
 protected:
  Config config() { return Config(file_with("a.yaml", kText)); }
};

TEST_F(Configs, AreChangedBeforeTheyAreResolved) {
  auto config = this->config();
  config.set("model.d_model=8");
  config.choose({InputChoice::Key::random, "1,3,8"});
  const auto plan = config.resolve(test::shipped_plugins());
  EXPECT_EQ(plan.model.dims.d_model, 8);
  EXPECT_EQ(plan.input.x.shape, (std::vector<std::int64_t>{1, 3, 8}));
}

TEST_F(Configs, CanBeReadWithoutTheirInput) {
  auto config = this->config();
  config.set("model.d_model=8");  // which the values do not fit
  EXPECT_TRUE(config.has_input());
  EXPECT_THROW(config.resolve(test::shipped_plugins()), ConfigError);
  EXPECT_FALSE(config.without_input().has_input());
  const auto plan = config.without_input().resolve(test::shipped_plugins());
  std::vector<Problem> problems;
  EXPECT_EQ(config.input_for(plan.model, test::shipped_plugins(), problems).x.shape.back(), 4);
  ASSERT_EQ(problems.size(), 1U);
  EXPECT_EQ(problems[0].path, "input");
}

TEST_F(Configs, TellWhereTheirValuesStand) {
  const auto plan = config().resolve(test::shipped_plugins());
  const auto value = mark_of(plan, "input.values.0.0.2").value();
  EXPECT_EQ(std::pair(value.line, value.column), std::pair(6, 27));
  EXPECT_EQ(mark_of(plan, "model.n_heads").value().line, 4);
  EXPECT_FALSE(mark_of(plan, "input.values.0.0.4"));
  EXPECT_FALSE(mark_of(plan, "no.such.key"));
  EXPECT_EQ(file_of(plan), in("a.yaml").string());
  EXPECT_THAT(origins(plan), Contains(Pair("model.d_model", HasSubstr("a.yaml:3:12"))));
  EXPECT_THAT(origins(plan), Contains(Pair("run.kernel", "default")));
}

TEST_F(Configs, PrintWhatReadsBack) {
  const auto plan = config().resolve(test::shipped_plugins());
  const auto again = Config(file_with("b.yaml", text_of(plan))).resolve(test::shipped_plugins());
  EXPECT_EQ(text_of(again), text_of(plan));
  EXPECT_THAT(annotated_text(plan), HasSubstr("scale: 0.7071067811865475  # computed"));
}

}  // namespace
}  // namespace headwright::bind

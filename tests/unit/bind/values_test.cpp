// A number or one of some names, as a parameter's value.
#include "bind/values.h"

#include <gmock/gmock.h>

#include "bind/rows.h"
#include "bind/schema.h"
#include "helpers/configs.h"
#include "spec/emit.h"

namespace headwright::bind {
namespace {

using testing::HasSubstr;
using NumberOrText = std::variant<double, std::string>;

struct Params {
  NumberOrText scale = "sqrt_d_model";
  std::optional<NumberOrText> gain;
  std::vector<NumberOrText> gains{0.5, "unit"};

  static constexpr auto fields() {
    return std::tuple{
        field("scale", &Params::scale, "of the embedding", positive() | one_of("sqrt_d_model")),
        field("gain", &Params::gain, "of the rest", one_of("unit", "auto")),
        field("gains", &Params::gains, "of each", one_of("unit", "auto")),
    };
  }
};

struct Read {
  Params params;
  std::string problems, resolved;
};

Read read(const std::string& yaml) {
  Reader reader{test::shipped_plugins(), {}};
  const auto rows = specs_of<Params>();
  auto resolved = map_node(default_mark());
  const auto values = read_rows(reader, {rows, {}, "parameter"}, spec::parse(yaml, "a.yaml"), "p", resolved).values;
  const auto problems = reader.problems.empty() ? "" : std::string(ConfigError(reader.problems).what());
  return {params_from<Params>(values), problems, spec::emit_flow(resolved)};
}

TEST(NumberOrText, TakesEither) {
  const auto given = read("{scale: 22.6, gain: unit, gains: [2, auto]}");
  EXPECT_EQ(given.problems, "");
  EXPECT_EQ(given.params.scale, NumberOrText(22.6));
  EXPECT_EQ(given.params.gain, NumberOrText("unit"));
  EXPECT_EQ(given.params.gains, (std::vector<NumberOrText>{2.0, "auto"}));
  EXPECT_EQ(given.resolved, "{scale: 22.6, gain: unit, gains: [2, auto]}");
  EXPECT_EQ(read("{scale: sqrt_d_model}").params.scale, NumberOrText("sqrt_d_model"));
}

TEST(NumberOrText, HasADefaultOfEither) {
  const auto given = read("{gain: null}");
  EXPECT_EQ(given.problems, "");
  EXPECT_EQ(given.params.scale, NumberOrText("sqrt_d_model"));
  EXPECT_EQ(given.params.gain, std::nullopt);
  EXPECT_EQ(given.resolved, "{scale: sqrt_d_model, gain: null, gains: [0.5, unit]}");
}

TEST(NumberOrText, RefusesWhatIsNeither) {
  EXPECT_THAT(read("{scale: sqrt_d_modle}").problems,
              HasSubstr("a.yaml:1:9: p.scale: got sqrt_d_modle, expected a number greater than 0, or sqrt_d_model; "
                        "did you mean 'sqrt_d_model'?"));
  EXPECT_THAT(read("{scale: -1}").problems, HasSubstr("got -1, expected a number greater than 0, or sqrt_d_model"));
  EXPECT_THAT(read("{gain: true}").problems, HasSubstr("got true, expected a number, or one of unit, auto"));
  EXPECT_THAT(read("{gain: [1]}").problems, HasSubstr("expected a number, or one of unit, auto, or null"));
  EXPECT_THAT(read("{gains: [1, 0x10]}").problems, HasSubstr("p.gains.1: got 0x10, expected a number, or one of"));
}

TEST(NumberOrText, IsDescribed) {
  const auto rows = specs_of<Params>();
  EXPECT_EQ(type_text(rows[0]), "number or choice");
  EXPECT_EQ(limits_text(rows[0]), "greater than 0, or sqrt_d_model");
  EXPECT_EQ(type_text(rows[1]), "number or choice or null");
  EXPECT_EQ(type_text(rows[2]), "list of number or choice");
  EXPECT_EQ(default_text(rows[2]), "[0.5, unit]");
}

}  // namespace
}  // namespace headwright::bind

// What the compiler says of a parameter whose type no config can give.
#include "headwright/params.h"

#include <gtest/gtest.h>

#include "helpers/command.h"
#include "helpers/temporary_folder.h"

namespace headwright {
namespace {

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t n = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

class Compiled : public test::TemporaryFolder {};

TEST_F(Compiled, AnUnsupportedTypeGivesOneLineThatListsTheTypes) {
  const std::string source = HEADWRIGHT_SOURCE_DIR "/tests/fixtures/compile/unsupported_parameters.cpp";
  const auto line = test::quoted(HEADWRIGHT_CXX) + " -std=c++20 -fsyntax-only -I " +
                    test::quoted(HEADWRIGHT_SOURCE_DIR "/framework/include") + " " + test::quoted(source);
  const auto said = test::run_command(line, in(""), in(""));
  EXPECT_NE(said.exit_code, 0);
  EXPECT_EQ(count(said.standard_error, "error:"), 9U) << said.standard_error;
  EXPECT_EQ(count(said.standard_error, "the type of a parameter: expected bool, std::int64_t, double, std::string, "),
            9U);
}

struct EveryType {
  bool flag = true;
  std::int64_t count = 2;
  std::variant<double, std::string> scale = 0.5;
  std::vector<bool> flags{true, false};
  std::vector<std::variant<double, std::string>> scales{1.5, "unit"};
  std::optional<std::vector<double>> list{{1, 2}};
  std::optional<std::variant<double, std::string>> gain;

  static constexpr auto fields() {
    return std::tuple{
        field("flag", &EveryType::flag, "a"),     field("count", &EveryType::count, "a"),
        field("scale", &EveryType::scale, "a"),   field("flags", &EveryType::flags, "a"),
        field("scales", &EveryType::scales, "a"), field("list", &EveryType::list, "a"),
        field("gain", &EveryType::gain, "a"),
    };
  }
};

TEST(Params, GoThroughTheBorderAndBack) {
  EveryType other{false, 3, "unit", {false}, {"auto"}, {}, 2.5};
  ParamMap values;
  const auto add = [&](const auto& row) { values.emplace_back(row.name, detail::to_value(other.*row.member)); };
  std::apply([&](const auto&... row) { (add(row), ...); }, EveryType::fields());
  const auto read = params_from<EveryType>(values);
  EXPECT_EQ(read.flag, other.flag);
  EXPECT_EQ(read.count, other.count);
  EXPECT_EQ(read.scale, other.scale);
  EXPECT_EQ(read.flags, other.flags);
  EXPECT_EQ(read.scales, other.scales);
  EXPECT_EQ(read.list, other.list);
  EXPECT_EQ(read.gain, other.gain);
  EXPECT_EQ(params_from<EveryType>({}).scales, EveryType().scales);
}

TEST(Params, AreFoundByTheirName) {
  const ParamMap values{{"a", {true}}, {"b", {std::int64_t{3}}}};
  ASSERT_NE(find(values, "b"), nullptr);
  EXPECT_EQ(std::get<std::int64_t>(find(values, "b")->data), 3);
  EXPECT_EQ(find(values, "c"), nullptr);
}

}  // namespace
}  // namespace headwright

// The lessons against lessons.json, which plain torch operations computed (make_lessons.py).
#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <ostream>

#include "headwright/errors.h"
#include "lessons/lesson.h"

namespace headwright::lessons {

void PrintTo(const LessonInfo& info, std::ostream* out) { *out << info.id; }

namespace {

LessonResult run(const std::string& id, const std::vector<std::string>& overrides = {}) {
  return run_lesson(id, overrides, {HEADWRIGHT_BUILD_DIR "/plugins"});
}

const nlohmann::json& golden(const std::string& group) {
  static const auto all = nlohmann::json::parse(std::ifstream(HEADWRIGHT_SOURCE_DIR "/tests/golden/lessons.json"));
  return all.at("lessons").at(group);
}

void collect(const nlohmann::json& nested, std::vector<double>& flat) {
  if (nested.is_number()) return flat.push_back(nested.get<double>());
  for (const auto& element : nested) collect(element, flat);
}

const LessonStep& step_of(const LessonResult& result, const std::string& name) {
  const auto found = std::ranges::find(result.steps, name, &LessonStep::name);
  if (found == result.steps.end()) throw std::runtime_error(result.info.id + " shows no '" + name + "'");
  return *found;
}

/// Steps of a lesson that stand in a group of the golden file, by the name they have there.
struct Shown {
  std::string lesson, group;
  std::vector<std::pair<std::string, std::string>> steps;  // of the lesson, of the group
};

std::vector<Shown> all_shown() {
  const auto same = [](std::initializer_list<const char*> names) {
    std::vector<std::pair<std::string, std::string>> pairs;
    for (const auto* name : names) pairs.emplace_back(name, name);
    return pairs;
  };
  return {
      {"3.3.1", "simple", same({"scores", "weights", "context"})},
      {"3.3.2", "simple", same({"scores", "weights", "context"})},
      {"3.4.1", "self_attention_v1_seed123", same({"W_query", "W_key", "W_value", "weights", "context"})},
      {"3.4.1", "scaling_d64", same({"entropy_unscaled", "entropy_scaled", "entropy_uniform"})},
      {"3.4.2", "self_attention_v2_seed789", same({"weights", "context"})},
      {"3.4.2", "self_attention_v2_seed789", {{"context_of_v1", "context"}}},
      {"3.5.1", "self_attention_v2_seed789", same({"weights"})},
      {"3.5.1", "causal_mask_methods_seed789", same({"renormalised", "masked_before_softmax"})},
      {"3.5.2", "causal_seed123", same({"weights"})},
      {"3.5.3", "causal_seed123", same({"weights", "context"})},
      {"3.6.1", "wrapper_d2_h2_seed123", same({"context"})},
      {"3.6.1", "wrapper_d1_h2_seed123", {{"context_of_width_1", "context"}}},
      {"3.6.2", "multi_head_d2_h2_seed123", same({"weights", "concatenated", "context"})},
      {"cat_sat_mat", "cat_sat_mat_seed42", same({"embedding", "scores", "scaled_scores", "weights", "output"})},
      {"cat_sat_mat_two_heads", "cat_sat_mat_two_heads_seed42", same({"weights", "output"})},
  };
}

TEST(Lessons, ShowTheNumbersOfPlainTorch) {
  for (const auto& [lesson, group, steps] : all_shown()) {
    const auto result = run(lesson);
    for (const auto& [name, key] : steps) {
      SCOPED_TRACE(lesson + ": " + name);
      std::vector<double> expected;
      collect(golden(group).at(key), expected);
      const auto value = step_of(result, name).value.to(at::kDouble).reshape(-1);
      ASSERT_EQ(value.numel(), static_cast<std::int64_t>(expected.size()));
      // float32: a few units in the last place of numbers of size 1
      EXPECT_LT((value - at::tensor(expected, at::kDouble)).abs().max().item<double>(), 1e-6);
    }
  }
}

class Lesson : public testing::TestWithParam<LessonInfo> {};

TEST_P(Lesson, HoldsWhatItPromises) {
  const auto result = run(GetParam().id);
  EXPECT_GE(result.checks.size(), 5U);
  for (const auto& check : result.checks) {
    EXPECT_TRUE(check.passed) << check.name << ": " << check.detail;
    EXPECT_FALSE(check.detail.empty()) << check.name;
  }
}

TEST_P(Lesson, GivesEachStepAShapeAndAMeaning) {
  for (const auto& step : run(GetParam().id).steps) {
    EXPECT_TRUE(step.value.defined()) << step.name;
    EXPECT_FALSE(step.meaning.empty()) << step.name;
  }
}

TEST_P(Lesson, ShowsOtherNumbersForAnotherInput) {
  const bool words = GetParam().id.starts_with("cat");
  const auto before = run(GetParam().id);
  const auto after = run(GetParam().id, {words ? "input.tokens.0.1=3" : "input.values.0.1.2=-1.5"});
  // Not computed from the input: weight parameters, masks, and what is shown beside the sentence.
  const std::vector<std::string> fixed{"W_query",       "W_key",          "W_value",         "mask",
                                       "dropped_ones",  "entropy_scaled", "entropy_uniform", "entropy_unscaled",
                                       "worked_softmax"};
  ASSERT_EQ(before.steps.size(), after.steps.size());
  for (std::size_t i = 0; i < before.steps.size(); ++i) {
    const auto& name = before.steps[i].name;
    const bool expected_equal = std::ranges::find(fixed, name) != fixed.end();
    EXPECT_EQ(at::equal(before.steps[i].value, after.steps[i].value), expected_equal) << name;
  }
  for (const auto& check : after.checks) EXPECT_TRUE(check.passed) << check.name << ": " << check.detail;
}

INSTANTIATE_TEST_SUITE_P(All, Lesson, testing::ValuesIn(lessons()), [](const auto& lesson) {
  auto id = lesson.param.id;
  std::ranges::replace(id, '.', '_');
  return id;
});

/// Names of the checks that fail.
std::vector<std::string> failures(const std::string& id, const std::vector<std::string>& overrides) {
  std::vector<std::string> names;
  for (const auto& check : run(id, overrides).checks) {
    if (!check.passed) names.push_back(check.name);
  }
  return names;
}

TEST(Lessons, SayWhatNoLongerHolds) {
  EXPECT_THAT(failures("3.6.2", {"model.blocks.only.attention.causal=false"}),
              testing::ElementsAre("the upper triangle is 0"));
  EXPECT_THAT(failures("3.4.2", {"model.blocks.only.attention.qkv_bias=true"}),
              testing::ElementsAre("v1 with the transposed weights of v2 equals v2 bit for bit"));
  EXPECT_THAT(failures("3.6.2", {"model.n_heads=1"}),
              testing::ElementsAre("dividing by sqrt(d_out) gives other weights"));
  EXPECT_THAT(failures("cat_sat_mat_two_heads", {"model.blocks.only.attention.causal=true", "model.context_length=3"}),
              testing::ElementsAre("without positions, reversing the words only reverses the output"));
}

TEST(Lessons, RunInTheOrderInWhichTheyBuildOnEachOther) {
  std::vector<std::string> ids;
  for (const auto& info : lessons()) ids.push_back(info.id);
  EXPECT_THAT(ids, testing::ElementsAre("3.3.1", "3.3.2", "3.4.1", "3.4.2", "3.5.1", "3.5.2", "3.5.3", "3.6.1", "3.6.2",
                                        "cat_sat_mat", "cat_sat_mat_two_heads"));
}

TEST(Lessons, AnUnknownOneIsAnErrorThatNamesTheNearest) {
  EXPECT_THAT([] { run("cat_sat_mats"); },
              testing::ThrowsMessage<InputError>(testing::HasSubstr("did you mean 'cat_sat_mat'?")));
}

TEST(Lessons, ATensorThatAnotherVariantDoesNotHaveIsAnErrorThatNamesIt) {
  EXPECT_THAT(
      [] { run("3.4.2", {"model.blocks.only.attention=simple_self_attention"}); },
      testing::ThrowsMessage<InputError>(testing::HasSubstr("'W_query.weight', which 'simple_self_attention'")));
}

TEST(Lessons, AStepThatAnotherVariantDoesNotNoteIsAnErrorThatNamesIt) {
  EXPECT_THAT([] { run("3.3.2", {"model.blocks.only.attention=softmax"}); },
              testing::ThrowsMessage<InputError>(testing::HasSubstr("which 'softmax' does not note")));
}

TEST(Lessons, AnInputThatIsTooShortForThemIsAnError) {
  EXPECT_THAT([] { run("3.3.1", {"input.values=[[[0.43, 0.15, 0.89]]]"}); },
              testing::ThrowsMessage<ShapeError>(testing::HasSubstr("at least one sequence of 2 tokens")));
}

}  // namespace
}  // namespace headwright::lessons

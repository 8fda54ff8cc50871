// `--set` changes a tree as if the file said so.
#include <gmock/gmock.h>

#include "headwright/errors.h"
#include "spec/emit.h"
#include "spec/load.h"

namespace headwright::spec {
namespace {

using testing::HasSubstr;

constexpr auto kConfig = "model:\n  d_model: 8\n  attention: softmax\n  layers: [dense]\n  shape: [2, 6]\n  none: []\n";

/// The config after the override, as text; or the message.
std::string after(std::string_view assignment) {
  auto root = parse(kConfig, "f");
  const auto before = emit(root);
  try {
    apply_override(root, assignment);
  } catch (const ConfigError& error) {
    EXPECT_EQ(emit(root), before) << "a refused override changed the tree";
    return error.what();
  }
  return emit(root);
}

TEST(Override, ReplacesAValueAndKnowsItsPlace) {
  auto root = parse(kConfig, "f");
  apply_override(root, "model.d_model=64");
  const auto* value = root.find("model")->find("d_model");
  EXPECT_EQ(value->text, "64");
  EXPECT_EQ(value->mark.file, "--set model.d_model=64");
  EXPECT_EQ(value->mark.line, 1);
  EXPECT_EQ(value->mark.column, 15);
  EXPECT_EQ(root.find("model")->entries[0].key_mark.file, "f");
}

TEST(Override, MakesWhatIsMissing) {
  auto root = parse(kConfig, "f");
  apply_override(root, "run.größe.x=1");
  EXPECT_EQ(root.find("run")->find("größe")->find("x")->text, "1");
  EXPECT_EQ(root.find("run")->find("größe")->find("x")->mark.column, 13);  // characters, not bytes
  EXPECT_EQ(root.entries.back().key_mark.file, "--set run.größe.x=1");
  EXPECT_EQ(root.find("run")->entries[0].key_mark.column, 5);
}

TEST(Override, GoesIntoABareComponentName) {
  EXPECT_THAT(after("model.attention.mask=causal"), HasSubstr("  attention:\n    name: softmax\n    mask: causal\n"));
  EXPECT_THAT(after("model.layers.0.repeat=3"), HasSubstr("  layers:\n    - use: dense\n      repeat: 3\n"));
}

TEST(Override, TakesAnyYamlAsValue) {
  EXPECT_THAT(after("model.shape=[3, 4]"), HasSubstr("shape: [3, 4]\n"));
  EXPECT_THAT(after("model.attention={name: linear, eps: 1e-5}"), HasSubstr("    name: linear\n    eps: 1e-5\n"));
  EXPECT_THAT(after("name=\"8\""), HasSubstr("name: \"8\"\n"));
  EXPECT_THAT(after("name=a=b"), HasSubstr("name: \"a=b\"\n"));
  EXPECT_THAT(after("model.shape.1=7"), HasSubstr("shape: [2, 7]\n"));
}

TEST(Override, TakesNothingForNull) {
  EXPECT_THAT(after("model.attention="), HasSubstr("attention: null\n"));
  EXPECT_THAT(after("model.attention=  "), HasSubstr("attention: null\n"));
  EXPECT_THAT(after("model.attention=null"), HasSubstr("attention: null\n"));
}

TEST(Override, RefusesWhatIsNoAssignment) {
  EXPECT_EQ(after("d_model"), "--set d_model:1:1: expected KEY=VALUE, such as model.d_model=64");
  EXPECT_EQ(after(""), "--set :1:1: expected KEY=VALUE, such as model.d_model=64");
  EXPECT_EQ(after("=1"), "--set =1:1:1: a step of the path is empty");
  EXPECT_EQ(after("model..d=1"), "--set model..d=1:1:7: model: a step of the path is empty");
  EXPECT_EQ(after("model.=1"), "--set model.=1:1:7: model: a step of the path is empty");
  EXPECT_EQ(after("name= #x"), "--set name= #x:1:7: '#' begins a comment; put the value in quotes");
}

TEST(Override, RefusesStepsThatLeadNowhere) {
  EXPECT_EQ(after("model.shape.2=1"),
            "--set model.shape.2=1:1:13: model.shape: got '2' as a step into a list, expected an index from 0 to 1");
  for (const auto* step : {"-1", "x", "1x", "99999999999999999999"}) {
    EXPECT_THAT(after("model.shape." + std::string(step) + "=1"), HasSubstr("expected an index from 0 to 1")) << step;
  }
  EXPECT_THAT(after("model.none.0=1"), HasSubstr("as a step into a list, which is empty"));
  EXPECT_EQ(after("model.d_model.x=1"),
            "--set model.d_model.x=1:1:15: model.d_model: a step into 8, which has no keys");
}

TEST(Override, ReadsTheValueAsStrictlyAsAFile) {
  EXPECT_EQ(after("model.shape=[1, 2"),
            "--set model.shape=[1, 2:1:13: model.shape: the '[' that stands here is not closed");
  EXPECT_EQ(after("a={b: 1, b: 2}"), "--set a={b: 1, b: 2}:1:10: a.b: duplicate key 'b', given before on line 1");
  EXPECT_THAT(after("a=!!int 3"), HasSubstr(":1:3: a: tags such as !!str"));
  EXPECT_THAT(after("a=1\n---\n2"), HasSubstr(":2:1: a: a second document"));
  EXPECT_THAT(after("a=\xff"), HasSubstr("not UTF-8"));
}

TEST(Override, ShowsControlCharactersOfTheOption) {
  EXPECT_EQ(after("a\x1b[31m=1"), "--set:1:2: control character \\x1b; write it as an escape in quotes");
}

}  // namespace
}  // namespace headwright::spec

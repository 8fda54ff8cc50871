// What yaml-cpp accepts, or complains about at the wrong place, and a config may not hold.
#include <gmock/gmock.h>

#include <chrono>

#include "spec/load.h"
#include "unit/spec/errors_of.h"

namespace headwright::spec {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

TEST(Strict, NamesBothLinesOfADuplicateKey) {
  EXPECT_EQ(errors_of("blocks:\n  dense:\n    attention: a\n    norm: b\n    attention: c\n"),
            "f:5:5: blocks.dense.attention: duplicate key 'attention', given before on line 3");
}

TEST(Strict, ReportsEveryDuplicateKey) {
  EXPECT_EQ(errors_of("a: 1\na: 2\nb: {c: 1, \"c\": 2, c: 3}\nd: [{e: 1}, {e: 1, e: 2}]"),
            "f:2:1: a: duplicate key 'a', given before on line 1\n"
            "f:3:11: b.c: duplicate key 'c', given before on line 3\n"
            "f:3:19: b.c: duplicate key 'c', given before on line 3\n"
            "f:4:20: d.1.e: duplicate key 'e', given before on line 4");
}

TEST(Strict, ReportsDuplicatesBesideASyntaxError) {
  EXPECT_EQ(errors_of("a: 1\na: 2\nb: [1"),
            "f:2:1: a: duplicate key 'a', given before on line 1\nf:3:4: b: the '[' that stands here is not closed");
}

TEST(Strict, RefusesAliasesThatNeverEnd) {
  EXPECT_THAT(errors_of("&a [*a]"), HasSubstr("f:1:5: 0: the alias stands inside the value that it repeats"));
  EXPECT_THAT(errors_of("a: &x\n  b: {c: *x}"), HasSubstr("f:2:10: a.b.c: the alias stands inside"));
}

TEST(Strict, RefusesAliasesThatExplode) {
  std::string bomb = "a0: &a0 [x, x]\n";
  for (int i = 1; i < 40; ++i) {
    const auto one = std::to_string(i), before = "*a" + std::to_string(i - 1);
    bomb += "a" + one + ": &a" + one + " [" + before + ", " + before + "]\n";
  }
  EXPECT_THAT(errors_of(bomb), HasSubstr("more than 100,000 values, aliases expanded"));
}

TEST(Strict, RefusesAliasesThatNestTooDeeply) {
  const std::string open(40, '['), close(40, ']');
  EXPECT_EQ(errors_of("a: " + open + close), "accepted");
  EXPECT_THAT(errors_of("a: &a " + open + close + "\nb: " + open + "*a" + close), StartsWith("f:2:44: b.0.0"));
  EXPECT_THAT(errors_of("a: &a " + open + close + "\nb: " + open + "*a" + close),
              HasSubstr("nested deeper than 64 levels once the alias is expanded"));
}

TEST(Strict, RefusesAnAliasOfNothing) {
  EXPECT_EQ(errors_of("a: *wide"), "f:1:4: a: alias '*wide' repeats nothing: no anchor '&wide' stands above it");
}

TEST(Strict, RefusesASecondDocument) {
  EXPECT_EQ(errors_of("a: 1\n---\nb: 2"), "f:2:1: a second document begins here; a config is one document");
  EXPECT_EQ(errors_of("a: 1\n---\n"), "f:2:1: a second document begins here; a config is one document");
  EXPECT_THAT(errors_of("a: 1\n...\nb: 2"), StartsWith("f:3:1: this does not belong to what stands above"));
  EXPECT_THAT(errors_of("- a\nb: 1"), StartsWith("f:2:1: this does not belong to what stands above"));
  EXPECT_EQ(errors_of("---\na: 1\n...\n# end\n"), "accepted");
}

TEST(Strict, RefusesDeepNestingAtOnce) {
  const auto start = std::chrono::steady_clock::now();
  for (const auto* part : {"[", "{", "- ", "? ", "[{a: ", "a: ["}) {
    std::string text;
    for (int i = 0; i < 100000; ++i) text += part;
    EXPECT_THAT(errors_of(text), StartsWith("f:1:")) << part;
  }
  std::string staircase;
  for (int i = 0; i < 500; ++i) staircase += std::string(static_cast<std::size_t>(i), ' ') + "a:\n";
  EXPECT_THAT(errors_of(staircase), StartsWith("f:65:65: a.a.a."));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
}

TEST(Strict, BoundsTheNumberOfValues) {
  std::string text = "a: [";
  for (int i = 0; i < 200000; ++i) text += "1,";
  EXPECT_THAT(errors_of(text + "1]"), HasSubstr("large tensors belong into a .npy or .safetensors file"));
}

TEST(Strict, RefusesTags) {
  for (const auto* value :
       {"!!str 8", "!!int '8'", "! 8", "!point 8", "!<tag:x> 8", "!x", "!!map {b: 1}", "!!seq [1]"}) {
    EXPECT_THAT(errors_of("a: " + std::string(value)), StartsWith("f:1:4: a: tags such as !!str are not part"))
        << value;
  }
  EXPECT_THAT(errors_of("a: &x !!str 8"), StartsWith("f:1:7: a: tags"));
  EXPECT_THAT(errors_of("!!str a: 8"), StartsWith("f:1:1: tags"));
  EXPECT_EQ(errors_of("a: '!x'"), "accepted");
}

TEST(Strict, RefusesMergeKeysWithAHint) {
  EXPECT_THAT(errors_of("a: &x {b: 1}\nc:\n  <<: *x\n  d: 1"), StartsWith("f:3:3: c: merge keys (<<) are not part"));
}

TEST(Strict, RefusesKeysThatAreNoText) {
  EXPECT_EQ(errors_of("? [a]\n: b"), "f:1:3: a key must be text, got a list");
  EXPECT_EQ(errors_of("{a: b}: c"), "f:1:1: a key must be text, got a map");
  EXPECT_EQ(errors_of("a: &x b\n*x : c"), "f:2:1: a key cannot be an alias; write it out");
  EXPECT_THAT(errors_of("~: x"), StartsWith("f:1:1: a key cannot be null"));
  EXPECT_THAT(errors_of(": x"), StartsWith("f:1:1: a key is missing"));
  EXPECT_THAT(errors_of("{,}"), StartsWith("f:1:2: a key is missing"));
  EXPECT_THAT(errors_of("'': x"), StartsWith("f:1:1: a key is empty"));
  EXPECT_THAT(errors_of("? |\n  a\n: x"), StartsWith("f:1:3: a key must stand on one line"));
  EXPECT_THAT(errors_of(std::string(500, 'k') + ": 1"), HasSubstr("a key of 500 bytes"));
}

TEST(Strict, RefusesAWordWithoutColon) {
  EXPECT_EQ(errors_of("a: b\nnorm\n"), "f:2:1: expected ':' and a value after 'norm'");
  EXPECT_EQ(errors_of("a: {norm}"), "f:1:5: a: expected ':' and a value after 'norm'");
  EXPECT_EQ(errors_of("{d_model:8}"), "f:1:2: expected ':' and a value after 'd_model:8'; a space must follow the ':'");
}

// yaml-cpp complains about the line after it
TEST(Strict, FindsTheLineThatLacksAColonOrTheSpaceAfterIt) {
  EXPECT_EQ(errors_of("d_model:8\nn: 4"), "f:1:8: a space must follow the ':' in 'd_model:8'");
  EXPECT_EQ(errors_of("m:\n  d_model:8\n\n  n: 4"), "f:2:10: m: a space must follow the ':' in 'd_model:8'");
  EXPECT_EQ(errors_of("m:\n  d: 8\n  norm\n  n: 4"), "f:3:3: m: expected ':' and a value after 'norm'");
  EXPECT_THAT(errors_of("a: 'x'\n  b: 1"), StartsWith("f:2:3: this does not fit"));
}

TEST(Strict, RefusesTextThatRunsOnInTheNextLine) {
  EXPECT_THAT(errors_of("attention: softmax\n  mask: causal"),
              StartsWith("f:1:12: attention: this text runs on in line 2"));
  EXPECT_THAT(errors_of("a: 1\n - 2"), StartsWith("f:1:4: a: this text runs on in line 2"));
  EXPECT_EQ(errors_of("a: 'over\n  two lines'\nb: >\n  over\n  two"), "accepted");
}

TEST(Strict, FindsTheQuoteThatIsNotClosed) {
  EXPECT_EQ(errors_of("a: 1\nb: 'x\nc: 1\n"), "f:2:4: b: the quote that begins here is not closed");
  EXPECT_EQ(errors_of("a: 1\nb: \"x\\\""), "f:2:4: b: the quote that begins here is not closed");
  EXPECT_EQ(errors_of("a: it's # don't\nb: 'it''s'"), "accepted");
}

TEST(Strict, FindsTheBracketThatIsNotClosed) {
  EXPECT_EQ(errors_of("run: {device: cpu\nmodel: {a: 1}"), "f:1:6: run: the '{' that stands here is not closed");
  EXPECT_EQ(errors_of("a: [1, 2"), "f:1:4: a: the '[' that stands here is not closed");
  EXPECT_EQ(errors_of("a: [[1, 2], '[', # ]\nb: 3"), "f:1:4: a: the '[' that stands here is not closed");
  EXPECT_EQ(errors_of("["), "f:1:1: the '[' that stands here is not closed");
  EXPECT_EQ(errors_of("a: 1\n]"), "f:2:1: a bracket is closed here that was not opened");
}

TEST(Strict, RefusesTextAfterAValue) {
  for (const auto* text : {"a: \"x\" y", "a: [1] 2", "a: {b: 1} c", "a: [b]c"}) {
    EXPECT_THAT(errors_of(text), HasSubstr("this does not fit what stands before it")) << text;
  }
}

TEST(Strict, RefusesTabsAsIndentation) {
  EXPECT_EQ(errors_of("a:\n\tb: 1"), "f:2:1: a tab in the indentation; use spaces");
  EXPECT_EQ(errors_of("a:\n  b: 1\n  \tc: 1"), "f:3:3: a tab in the indentation; use spaces");
  EXPECT_EQ(errors_of("a:\tb\t# fine\n\t\n\t# fine\n"), "accepted");
}

TEST(Strict, RefusesDirectives) {
  EXPECT_THAT(errors_of("%YAML 1.2\n---\na: 1"), StartsWith("f:1:1: a line cannot begin with '%'"));
  EXPECT_THAT(errors_of("a: 1\n%x\n"), StartsWith("f:2:1: a line cannot begin with '%'"));
}

TEST(Strict, RefusesBytesThatAreNoText) {
  EXPECT_EQ(errors_of("é: 1\nb: \xff"), "f:2:4: not UTF-8: byte \\xff; save the file as UTF-8");
  EXPECT_EQ(errors_of("\xff\xfe"
                      "a"),
            "f:1:1: is UTF-16; save it as UTF-8");
  EXPECT_THAT(errors_of(std::string_view("a\0:\0", 4)), StartsWith("f:1:2: control character \\x00"));
  EXPECT_THAT(errors_of("a: 1\nb: \x04 2"), StartsWith("f:2:4: control character \\x04"));  // the end, to yaml-cpp
  EXPECT_THAT(errors_of("a: 1\rb: 2"), StartsWith("f:1:5: a carriage return alone"));
}

TEST(Strict, SaysWhatToTryForOtherFaults) {
  EXPECT_THAT(errors_of("a: x: y"), StartsWith("f:1:5: a ':' cannot stand here"));
  EXPECT_THAT(errors_of("a: - b"), HasSubstr("begin it on a line of its own"));
  EXPECT_THAT(errors_of("a: @x"), HasSubstr("text cannot begin with '@'; put it in quotes"));
  EXPECT_THAT(errors_of("a: \"\\q\""), HasSubstr("write \\\\ for a backslash"));
  EXPECT_THAT(errors_of("a: \"\\N\""), HasSubstr("write \\x85"));  // yaml-cpp makes a byte of it that is no UTF-8
  EXPECT_THAT(errors_of("a: &x &y 1"), HasSubstr("two anchors for one value"));
}

}  // namespace
}  // namespace headwright::spec

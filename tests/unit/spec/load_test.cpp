// Texts become trees that know where each part stands.
#include "spec/load.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include "support/files.h"
#include "unit/spec/errors_of.h"

namespace headwright::spec {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::StartsWith;

std::string place(const Mark& mark) { return std::to_string(mark.line) + ":" + std::to_string(mark.column); }

TEST(Load, KnowsWhereEachKeyAndValueStands) {
  const auto root = parse("# a comment\nmodel:\n  d_model: 8\n  layers: [a, {use: b}]\n", "f");
  const auto& model = root.entries.at(0);
  EXPECT_EQ(place(model.key_mark), "2:1");
  EXPECT_EQ(model.value.mark.file, "f");
  EXPECT_EQ(place(model.value.mark), "3:3");
  EXPECT_EQ(place(model.value.find("d_model")->mark), "3:12");
  const auto* layers = model.value.find("layers");
  ASSERT_EQ(layers->items.size(), 2U);
  EXPECT_EQ(place(layers->items[0].mark), "4:12");
  EXPECT_EQ(place(layers->items[1].find("use")->mark), "4:21");
}

TEST(Load, CountsColumnsInCharacters) {
  const auto root = parse("größe: {世界: [é, x]}\nb: 1", "f");
  const auto& size = root.entries.at(0).value;
  EXPECT_EQ(place(size.mark), "1:8");
  EXPECT_EQ(place(size.entries[0].value.items[1].mark), "1:17");
  EXPECT_EQ(place(root.find("b")->mark), "2:4");
}

TEST(Load, ReadsOverAByteOrderMarkAndCarriageReturns) {
  const auto root = parse(
      "\xef\xbb\xbf"
      "a: 1\r\nb: x\r\n",
      "f");
  EXPECT_EQ(place(root.entries.at(0).key_mark), "1:1");
  EXPECT_EQ(place(root.find("b")->mark), "2:4");
  EXPECT_EQ(root.find("b")->text, "x");
}

TEST(Load, TellsQuotedTextFromPlain) {
  const auto root = parse("a: 8\nb: '8'\nc: \"8\"\nd: |\n  8\ne: &x \"8\"\nf: *x", "f");
  EXPECT_FALSE(root.find("a")->quoted);
  for (const auto* key : {"b", "c", "d", "e", "f"}) EXPECT_TRUE(root.find(key)->quoted) << key;
  EXPECT_EQ(place(root.find("e")->mark), "6:7");  // the value, not its anchor
}

TEST(Load, TakesNothingForNullAtItsKey) {
  const auto root = parse("a:\nb: ~\nc:\n  # null\nd: null\ne:\n-\n- 1\n", "f");
  for (const auto* key : {"a", "b", "c", "d"}) EXPECT_EQ(root.find(key)->type, Node::Type::null) << key;
  EXPECT_EQ(place(root.find("a")->mark), "1:2");
  EXPECT_EQ(place(root.find("b")->mark), "2:4");
  EXPECT_EQ(place(root.find("c")->mark), "3:2");
  EXPECT_EQ(place(root.find("e")->items.at(0).mark), "7:1");
}

TEST(Load, ExpandsAliases) {
  const auto root = parse("a: &wide {d: [1, 2]}\nb: *wide\nc: [*wide, *wide]", "f");
  EXPECT_EQ(place(root.find("b")->mark), "2:4");              // where the alias is
  EXPECT_EQ(place(root.find("b")->find("d")->mark), "1:14");  // where its content is
  EXPECT_EQ(root.find("c")->items.at(1).find("d")->items.at(1).text, "2");
}

TEST(Load, KeepsTheOrderOfTheFile) {
  const auto root = parse("z: 1\na: 2\nm: 3", "f");
  std::string keys;
  for (const auto& entry : root.entries) keys += entry.key;
  EXPECT_EQ(keys, "zam");
}

TEST(Load, NamesWhatANodeIs) {
  const auto root = parse("a: {}\nb: []\nc:\nd: x\ne: '8'", "f");
  EXPECT_EQ(root.find("a")->what(), "a map");
  EXPECT_EQ(root.find("b")->what(), "a list");
  EXPECT_EQ(root.find("c")->what(), "nothing");
  EXPECT_EQ(root.find("d")->what(), "x");
  EXPECT_EQ(root.find("e")->what(), "\"8\"");
  EXPECT_EQ(root.find("none"), nullptr);
}

std::string errors_of_file(const fs::path& path) {
  try {
    load(path);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Load, RefusesWhatIsNoFile) {
  EXPECT_EQ(errors_of_file("none.yaml"), "none.yaml: cannot be read: no such file or folder");
  EXPECT_EQ(errors_of_file("/proc"), "/proc: is a folder, expected a YAML config");
}

TEST(Load, RefusesAFileOfMoreThanFourMegabytes) {
  const auto path = fs::temp_directory_path() / ("headwright_large_" + std::to_string(::getpid()) + ".yaml");
  support::write_file(path, "a: " + std::string(5 << 20, 'x'));
  EXPECT_THAT(errors_of_file(path), HasSubstr("larger than 4194304 bytes"));
  support::write_file(path, "a: 1");
  EXPECT_EQ(errors_of_file(path), "accepted");
  fs::remove(path);
}

TEST(Load, RefusesAnEmptyConfig) {
  for (const auto* text : {"", "\n\n", "# only a comment\n", "---\n", "---\n...\n", "\xef\xbb\xbf"}) {
    EXPECT_THAT(errors_of(text), StartsWith("f: is empty, expected a config")) << text;
  }
}

}  // namespace
}  // namespace headwright::spec

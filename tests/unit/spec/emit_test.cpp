// Emitted YAML reads back to the same tree.
#include "spec/emit.h"

#include <gtest/gtest.h>

#include <random>

#include "headwright/errors.h"
#include "spec/load.h"
#include "spec/scalars.h"

namespace headwright::spec {
namespace {

/// Whether two trees mean the same: quotes count only where they change what a scalar is.
bool same(const Node& a, const Node& b) {
  if (is_null(a) || is_null(b)) return is_null(a) && is_null(b);
  if (a.type != b.type || a.text != b.text || a.items.size() != b.items.size() ||
      a.entries.size() != b.entries.size()) {
    return false;
  }
  if (a.type == Node::Type::scalar && as_text(a).value != as_text(b).value) return false;
  for (std::size_t i = 0; i < a.items.size(); ++i) {
    if (!same(a.items[i], b.items[i])) return false;
  }
  for (std::size_t i = 0; i < a.entries.size(); ++i) {
    if (a.entries[i].key != b.entries[i].key || !same(a.entries[i].value, b.entries[i].value)) return false;
  }
  return true;
}

Node text(std::string value) { return {.type = Node::Type::scalar, .text = std::move(value), .quoted = true}; }

const std::vector<std::string> kAwkward{"",
                                        " ",
                                        "  two  ",
                                        "8",
                                        "-8",
                                        "010",
                                        "0x10",
                                        "1_000",
                                        "1e5",
                                        ".5",
                                        "1.",
                                        ".nan",
                                        "-.inf",
                                        "true",
                                        "True",
                                        "yes",
                                        "No",
                                        "null",
                                        "~",
                                        "<<",
                                        "=",
                                        "-",
                                        "--",
                                        "---",
                                        "...",
                                        "- a",
                                        "-a",
                                        "?",
                                        "? a",
                                        ":",
                                        ": a",
                                        "a: b",
                                        "a:b",
                                        "a:",
                                        "#",
                                        "# a",
                                        "a #b",
                                        "a#b",
                                        "&a",
                                        "*a",
                                        "!a",
                                        "!!str",
                                        "%a",
                                        "@a",
                                        "`a",
                                        "|",
                                        ">",
                                        "|\n a",
                                        "'",
                                        "\"",
                                        "it's",
                                        "\"a\"",
                                        "\\",
                                        "\\n",
                                        "\n",
                                        "a\nb",
                                        "a\n\nb\n",
                                        "\t",
                                        "a\tb",
                                        "\r\n",
                                        "[",
                                        "]",
                                        "[a]",
                                        "{",
                                        "}",
                                        "{a: b}",
                                        ",",
                                        "a, b",
                                        "größe",
                                        "世界 😀",
                                        "\xc2\x85",
                                        "\xc2\xa0",
                                        "\xe2\x80\xa8",
                                        "\xef\xbb\xbf",
                                        std::string("\xef\xbb\xbf") + "a",
                                        "\x01\x04\x1b\x7f",
                                        std::string("\0a", 2),
                                        "2024-01-01",
                                        "12:30:45",
                                        "a b",
                                        "model.d_model",
                                        "/tmp/x.npy",
                                        "~/x",
                                        "../x",
                                        std::string(5000, 'x')};

TEST(Emit, ReadsBackEveryAwkwardText) {
  for (const auto& awkward : kAwkward) {
    Node map{.type = Node::Type::map};
    map.entries.push_back({.key = "a", .value = text(awkward)});
    map.entries.push_back({.key = "b", .value = {.type = Node::Type::list, .items = {text(awkward), text(awkward)}}});
    const bool fits_as_key = !awkward.empty() && awkward.size() < 200 && awkward != "a" && awkward != "b";
    if (fits_as_key) map.entries.push_back({.key = awkward, .value = text(awkward)});
    const auto written = emit(map);
    EXPECT_TRUE(same(map, parse(written, "f"))) << written;
    EXPECT_TRUE(same(text(awkward), parse(emit(text(awkward)), "f"))) << emit(text(awkward));
  }
}

TEST(Emit, PutsOnlyThatTextInQuotesWhichNeedsThem) {
  const auto root = parse("a: 'softmax'\nb: '8'\nc: 8\nd: 'yes'\ne: 'a: b'\nf: 1e-5\ng: '0.5'\nh: -1\n", "f");
  EXPECT_EQ(emit(root), "a: softmax\nb: \"8\"\nc: 8\nd: \"yes\"\ne: \"a: b\"\nf: 1e-5\ng: \"0.5\"\nh: -1\n");
}

TEST(Emit, WritesBlocksAndShortListsInOneLine) {
  constexpr auto kText =
      "name: tiny\n"
      "model:\n"
      "  d_model: 8\n"
      "  blocks:\n"
      "    dense:\n"
      "      norm: layer_norm\n"
      "  layers:\n"
      "    - use: dense\n"
      "      repeat: 2\n"
      "    - dense\n"
      "    - pattern: [dense, dense]\n"
      "      nested:\n"
      "        - - a: 1\n"
      "          - b\n"
      "run:\n"
      "  threads: null\n"
      "  nothing: {}\n"
      "input:\n"
      "  x: [[0.43, 0.15], [0.55, 0.87]]\n"
      "  none: []\n";
  EXPECT_EQ(emit(parse(kText, "f")), kText);
}

TEST(Emit, WritesLongListsOverSeveralLines) {
  Node rows{.type = Node::Type::list}, row{.type = Node::Type::list};
  for (int i = 0; i < 60; ++i) row.items.push_back({.type = Node::Type::scalar, .text = std::to_string(100000 + i)});
  rows.items = {row, row};
  Node root{.type = Node::Type::map};
  root.entries.push_back({.key = "long", .value = rows});
  root.entries.push_back({.key = "flat", .value = row});
  const auto written = emit(root);
  EXPECT_TRUE(same(root, parse(written, "f"))) << written;
  std::size_t longest = 0;
  for (std::size_t at = 0, end = 0; (end = written.find('\n', at)) != std::string::npos; at = end + 1) {
    longest = std::max(longest, end - at);
  }
  EXPECT_LE(longest, 110U);
}

/// A tree of some hundred nodes.
Node random_tree(std::mt19937& random, int depth) {
  const auto pick = [&](std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(random); };
  const auto kind = depth == 0 ? 0 : pick(4);
  if (kind == 0) return text(kAwkward[pick(kAwkward.size())]);
  if (kind == 1) return {.type = Node::Type::scalar, .text = std::to_string(pick(1000)), .quoted = pick(2) == 0};
  Node node{.type = kind == 2 ? Node::Type::list : Node::Type::map};
  for (std::size_t i = 0, n = pick(5); i < n; ++i) {
    if (kind == 2) {
      node.items.push_back(random_tree(random, depth - 1));
    } else {
      node.entries.push_back({.key = "k" + std::to_string(i), .value = random_tree(random, depth - 1)});
    }
  }
  return node;
}

TEST(Emit, ReadsBackRandomTrees) {
  std::mt19937 random(7);
  for (int i = 0; i < 500; ++i) {
    Node root{.type = Node::Type::map};
    root.entries.push_back({.key = "root", .value = random_tree(random, 5)});
    const auto written = emit(root);
    ASSERT_TRUE(same(root, parse(written, "f"))) << written;
  }
}

}  // namespace
}  // namespace headwright::spec

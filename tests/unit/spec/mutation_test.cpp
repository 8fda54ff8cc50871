// Damaged configs: each is read or refused with a place, and what is read can be written and read again.
#include <gtest/gtest.h>

#include <random>

#include "headwright/errors.h"
#include "spec/emit.h"
#include "spec/load.h"

namespace headwright::spec {
namespace {

const std::string kConfig = R"(# yaml-language-server: $schema=../schema.json
name: "größe"
description: >
  Two blocks,
  folded
model:
  d_model: 768
  embedding: { vocab_size: 50257, position: learned, dropout: 0.1 }
  blocks:
    dense: &dense
      order: pre_norm   # pre_norm | post_norm
      attention: { name: softmax, mask: [causal, {window: 4}], qkv_bias: true }
      feed_forward: 'gelu'
    sparse: *dense
  layers: [{ use: dense, repeat: 12 }, sparse]
  head:
    tied: true
run: { device: auto, seed: 123 }
input:
  tokens:
    - [15496, 11, 314, 716]
    - - 1
      - 2
)";

void check(const std::string& text) {
  try {
    const auto written = emit(parse(text, "f"));
    EXPECT_EQ(emit(parse(written, "f")), written) << text;
  } catch (const ConfigError& error) {
    ASSERT_FALSE(error.problems().empty());
    const auto lines = 1 + std::count(text.begin(), text.end(), '\n');
    for (const auto& problem : error.problems()) {
      EXPECT_FALSE(problem.message.empty()) << text;
      EXPECT_LE(problem.line, lines) << text;
      const bool of_the_whole_file = problem.line == 0 && problem.message.starts_with("is empty");
      EXPECT_TRUE(of_the_whole_file || (problem.line > 0 && problem.column > 0)) << problem.to_string() << "\n" << text;
    }
  }
}

TEST(Damaged, EveryBeginningOfAConfigIsReadOrRefused) {
  for (std::size_t size = 0; size <= kConfig.size(); ++size) check(kConfig.substr(0, size));
}

TEST(Damaged, EveryConfigWithoutOneByteIsReadOrRefused) {
  for (std::size_t at = 0; at < kConfig.size(); ++at) check(std::string(kConfig).erase(at, 1));
}

TEST(Damaged, RandomMutationsAreReadOrRefused) {
  const std::string meaningful = "[]{}:,-?&*!|>'\"%@`#~<=\\ \t\n\r.0x";
  std::mt19937 random(11);
  const auto pick = [&](std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(random); };
  for (int i = 0; i < 6000; ++i) {
    std::string text = kConfig;
    for (std::size_t edits = 1 + pick(4); edits > 0; --edits) {
      const auto at = pick(text.size()), size = std::min(pick(30), text.size() - at);
      const char c = pick(10) == 0 ? static_cast<char>(pick(256)) : meaningful[pick(meaningful.size())];
      switch (pick(5)) {
        case 0:
          text.insert(at, 1, c);
          break;
        case 1:
          text[at] = c;
          break;
        case 2:
          text.erase(at, size);
          break;
        case 3:
          text.insert(pick(text.size()), text.substr(at, size));
          break;
        default:
          text.insert(at, 1 + pick(3), c);
          break;
      }
      if (text.empty()) break;
    }
    check(text);
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace headwright::spec

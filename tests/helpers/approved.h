// Approved text: a file beside the tests says what is to be printed. tests/golden/accept writes the files anew.
#pragma once
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "support/files.h"

namespace headwright::test {

/// Replaces every `from` in the text: absolute folders differ between machines.
inline std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (auto at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

/// The text without the folders of this machine.
inline std::string portable(const std::string& text) {
  return replaced(replaced(text, HEADWRIGHT_BUILD_DIR, "BUILD"), HEADWRIGHT_SOURCE_DIR, "SOURCE");
}

/// Compares with the approved file, or writes it where HEADWRIGHT_ACCEPT is set.
inline void expect_approved(const std::string& text, const std::filesystem::path& file) {
  if (std::getenv("HEADWRIGHT_ACCEPT") != nullptr) {
    support::write_file(file, text);
    return;
  }
  ASSERT_TRUE(std::filesystem::exists(file)) << file << " is missing; tests/golden/accept writes it. Got:\n" << text;
  EXPECT_EQ(text, support::read_file(file, 16 << 20))
      << "as approved in " << file << "; tests/golden/accept accepts it";
}

}  // namespace headwright::test

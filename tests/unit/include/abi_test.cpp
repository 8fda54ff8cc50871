// The public headers and the ABI number belong together: abi.txt holds the number and a hash of the headers.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "headwright/abi.h"
#include "support/files.h"
#include "support/hash.h"

namespace headwright {
namespace {

namespace fs = std::filesystem;

constexpr auto kHeaders = HEADWRIGHT_SOURCE_DIR "/framework/include/headwright";
constexpr auto kRecord = HEADWRIGHT_SOURCE_DIR "/tests/unit/include/abi.txt";

/// The code alone: no comments, no white space, so that neither words nor layout count.
std::string code_of(const std::string& text) {
  std::string code;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text.compare(at, 2, "//") == 0) {
      at = std::min(text.find('\n', at), text.size());
    } else if (text.compare(at, 2, "/*") == 0) {
      at = std::min(text.find("*/", at), text.size()) + 1;
    } else if (text[at] == '"') {
      const auto begin = at;
      for (++at; at < text.size() && text[at] != '"'; ++at) {
        if (text[at] == '\\') ++at;
      }
      code += text.substr(begin, at - begin + 1);
    } else if (std::isspace(static_cast<unsigned char>(text[at])) == 0) {
      code += text[at];
    }
  }
  return code;
}

std::string hash_of_public_headers() {
  std::vector<fs::path> headers;
  for (const auto& entry : fs::directory_iterator(kHeaders)) {
    headers.push_back(entry.path());
  }
  std::ranges::sort(headers);
  support::Sha256 digest;
  for (const auto& header : headers) {
    digest.add(header.filename().string() + "\n" + code_of(support::read_file(header, 1 << 20)) + "\n");
  }
  return digest.hex();
}

TEST(Abi, CommentsAndLayoutAreNoPartOfTheCode) {
  EXPECT_EQ(code_of("int a; // one\n/* two\n */ int  b;\n\n"), "inta;intb;");
  EXPECT_EQ(code_of("f(\"a // b\\\" c\"); // d"), "f(\"a // b\\\" c\");");
  EXPECT_NE(code_of("int a;"), code_of("long a;"));
}

TEST(Abi, NumberWasDecidedOnForThesePublicHeaders) {
  const auto current = std::to_string(kAbiNumber) + " " + hash_of_public_headers() + "\n";
  if (std::getenv("HEADWRIGHT_ACCEPT") != nullptr) support::write_file(kRecord, current);
  EXPECT_EQ(support::read_file(kRecord, 1000), current)
      << "The public headers changed since plugin ABI " << kAbiNumber << " was decided on. Would a plugin that was\n"
      << "built before still work with libheadwright as it is now?\n"
      << "  no, or not sure (a member, a virtual function, their order, a type, a default that is inlined):\n"
      << "      raise kAbiNumber in framework/include/headwright/abi.h\n"
      << "  yes (a new free function, a new macro, another name of an argument): leave it\n"
      << "Then accept the headers: HEADWRIGHT_ACCEPT=1 " << HEADWRIGHT_BUILD_DIR << "/tests/unit_include";
}

}  // namespace
}  // namespace headwright

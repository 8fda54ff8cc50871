// SHA-256 of known texts.
#include "support/hash.h"

#include <gtest/gtest.h>

namespace headwright::support {
namespace {

std::string hash(std::string_view text) {
  Sha256 digest;
  digest.add(text);
  return digest.hex();
}

// FIPS 180-4 and the NIST examples
TEST(Sha256, GivesThePublishedDigests) {
  EXPECT_EQ(hash(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hash("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hash(std::string(1000000, 'a')), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, IsTheSameInPieces) {
  Sha256 digest;
  digest.add("a");
  digest.add("");
  digest.add("bc");
  EXPECT_EQ(digest.hex(), hash("abc"));
}

}  // namespace
}  // namespace headwright::support

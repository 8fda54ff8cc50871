// The checksum behind the end of a library, and what is refused by it. A probe that does not exist shows that nothing
// was opened.
#include "registry/seal.h"

#include "headwright/errors.h"
#include "unit/registry/registry_fixture.h"

namespace headwright::registry {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::IsEmpty;

constexpr std::size_t kSealSize = 16;

class Sealed : public RegistryTest {
 protected:
  static Options without_probe(std::vector<path> search_path) {
    auto with = options(std::move(search_path));
    with.probe = "/no/such/probe";
    return with;
  }
  std::string whole_ = bytes_of(fixtures("good/good_one.so"));
};

/// Each byte of the headers and of the seal, and bytes all over the rest.
std::vector<std::size_t> positions_in(std::size_t size) {
  std::vector<std::size_t> positions;
  for (std::size_t at = 0; at < 64 + 8 * 56; ++at) positions.push_back(at);
  for (std::size_t at = size - kSealSize; at < size; ++at) positions.push_back(at);
  for (std::size_t i = 0; i < 500; ++i) positions.push_back(i * size / 500);
  return positions;
}

TEST_F(Sealed, EveryFlippedByteIsRefusedBeforeAnythingIsOpened) {
  for (const auto at : positions_in(whole_.size())) {
    auto bytes = whole_;
    bytes[at] = static_cast<char>(bytes[at] ^ (1 << at % 8));
    const auto file = file_with("flipped.so", bytes);
    const auto reason = reason_for(Registry(without_probe({file})), file);
    EXPECT_NE(reason, "") << at;
    EXPECT_EQ(reason.find("could not be tried"), std::string::npos) << at << ": " << reason;
  }
}

TEST_F(Sealed, LibraryWithoutASealIsRefusedWithAHintUnlessAllowed) {
  const auto file = file_with("bare.so", whole_.substr(0, whole_.size() - kSealSize));
  EXPECT_THAT(reason_for(Registry(without_probe({file})), file),
              AllOf(HasSubstr("has no seal"), HasSubstr("runner seal " + file.string()),
                    HasSubstr("HEADWRIGHT_ALLOW_UNSEALED=1")));
  auto allowing = options({file});
  allowing.allow_unsealed = true;
  EXPECT_NE(Registry(allowing).find("good_one"), nullptr);
}

TEST_F(Sealed, ADamagedOneIsNotAllowedEither) {
  auto bytes = whole_;
  bytes[bytes.size() / 2] ^= 1;
  auto allowing = without_probe({file_with("damaged.so", bytes)});
  allowing.allow_unsealed = true;
  EXPECT_THAT(reason_for(Registry(allowing), in("damaged.so")), HasSubstr("damaged"));
}

TEST_F(Sealed, SealingAgainChangesNothingAndKeepsTheRights) {
  const auto file = copy(fixtures("good/good_one.so"), "again.so");
  fs::permissions(file, fs::perms::owner_all);
  seal_library(file);
  EXPECT_EQ(bytes_of(file), whole_);
  EXPECT_EQ(fs::status(file).permissions(), fs::perms::owner_all);
}

TEST_F(Sealed, OtherBytesAtTheSameSizeAndTimeAreSeen) {
  const auto file = copy(fixtures("good/good_one.so"), "one.so");
  auto cached = options({file});
  cached.cache_folder = in("cache");
  EXPECT_THAT(Registry(cached).refused(), IsEmpty());
  const auto time = fs::last_write_time(file);
  auto bytes = whole_;
  for (std::size_t i = 0; i < 16; ++i) bytes[bytes.size() / 2 + i] ^= 0x55;
  file_with("one.so", bytes);
  fs::last_write_time(file, time);
  EXPECT_THAT(reason_for(Registry(cached), file), HasSubstr("damaged"));
  seal_library(file);  // whole again, but another library than the one that was tried
  fs::last_write_time(file, time);
  cached.probe = "/no/such/probe";
  EXPECT_THAT(reason_for(Registry(cached), file), HasSubstr("could not be tried"));
}

TEST_F(Sealed, LibraryThatChangesAfterItWasTriedIsNotOpened) {
  const auto file = copy(fixtures("good/good_one.so"), "changes.so");
  const Registry registry(options({file}));
  auto bytes = whole_;
  bytes[bytes.size() / 2] ^= 1;
  fs::remove(file);
  file_with("changes.so", bytes);
  EXPECT_THAT(test::message_of<PluginError>([&] { registry.find("good_one"); }),
              AllOf(HasSubstr(file.string()), HasSubstr("changed since it was looked at")));
}

TEST_F(Sealed, WhatIsNoFileIsSaid) {
  EXPECT_FALSE(contents_of(in("nothing")));
  EXPECT_FALSE(contents_of(in("")));
  EXPECT_THAT(test::message_of<InputError>([&] { seal_library(in("nothing")); }), HasSubstr("no such file"));
  const auto empty = contents_of(file_with("empty", ""));
  ASSERT_TRUE(empty);
  EXPECT_FALSE(empty->sealed);
}

}  // namespace
}  // namespace headwright::registry

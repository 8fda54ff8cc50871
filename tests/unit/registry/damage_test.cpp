// Files that were good once. Opening such a file in the own process ends it more often than not.
#include <random>

#include "registry/elf.h"
#include "registry/probe.h"
#include "unit/registry/registry_fixture.h"

namespace headwright::registry {
namespace {

using testing::StartsWith;

class Damaged : public RegistryTest {};

TEST_F(Damaged, TruncatedFilesAreToldByTheirOwnHeaders) {
  const auto whole = bytes_of(fixtures("good/good_one.so"));
  constexpr std::size_t kCuts = 40;
  for (std::size_t i = 1; i <= kCuts; ++i) {
    // evenly, down to the last byte
    const auto size = i == kCuts ? whole.size() - 1 : whole.size() * i / kCuts - 7;
    file_with("cut_" + std::to_string(i) + ".so", whole.substr(0, size));
  }
  file_with("tiny.so", whole.substr(0, 20));
  Registry registry(options({in(""), fixtures("good")}));
  ASSERT_EQ(registry.refused().size(), kCuts + 1);
  for (const auto& refusal : registry.refused()) {
    EXPECT_THAT(refusal.reason, StartsWith("truncated: ")) << refusal.file;
  }
  EXPECT_EQ(registry.all().size(), 3);
}

TEST_F(Damaged, ZerosThatTakeNoRoomInTheFileAreNotMissed) { EXPECT_EQ(elf_fault(fixtures("odd/large_zeros.so")), ""); }

TEST_F(Damaged, FilesWithAFlippedByteNeverEndTheHost) {
  const auto whole = bytes_of(fixtures("good/good_one.so"));
  std::mt19937 random(20240607);
  Probe probe(probe_for_tests(), std::chrono::seconds(5));
  int refused = 0;
  for (int i = 0; i < 40; ++i) {
    auto bytes = whole;
    auto& byte = bytes[random() % bytes.size()];
    byte = static_cast<char>(byte ^ (1 << random() % 8));
    const auto file = file_with("flipped_" + std::to_string(i) + ".so", bytes);
    const auto fault = elf_fault(file);
    const auto verdict = fault.empty() ? probe.try_file(file) : Verdict{.reason = fault};
    EXPECT_EQ(verdict.reason.empty(), !verdict.provides.empty()) << verdict.reason;
    if (!verdict.reason.empty()) ++refused;
  }
  RecordProperty("refused", refused);
  EXPECT_EQ(probe.try_file(fixtures("good/good_one.so")).reason, "");
}

TEST_F(Damaged, ElfHeadersWithFlippedBitsNeverEndTheHost) {
  const auto whole = bytes_of(fixtures("good/good_one.so"));
  Probe probe(probe_for_tests(), std::chrono::seconds(5));
  for (std::size_t at = 0; at < 64 + 3 * 56; ++at) {  // the ELF header and the first program headers
    auto bytes = whole;
    bytes[at] = static_cast<char>(bytes[at] ^ (1 << at % 8));
    const auto file = file_with("flipped.so", bytes);
    const auto fault = elf_fault(file);
    const auto verdict = fault.empty() ? probe.try_file(file) : Verdict{.reason = fault};
    EXPECT_EQ(verdict.reason.empty(), !verdict.provides.empty()) << at << ": " << verdict.reason;
  }
  EXPECT_EQ(probe.try_file(fixtures("good/good_one.so")).reason, "");
}

}  // namespace
}  // namespace headwright::registry

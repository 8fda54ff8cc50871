// Writes and compares the checksum at the end of a library file.
#include "registry/seal.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <limits>
#include <string_view>
#include <type_traits>
#include <vector>

#include "support/files.h"

namespace headwright::registry {
namespace {
namespace fs = std::filesystem;

/// The last bytes of a sealed file. A loader looks at nothing behind what an ELF header names.
struct Seal {
  std::array<char, 8> magic;
  std::uint64_t hash;
};
static_assert(std::is_trivially_copyable_v<Seal> && sizeof(Seal) == 16);

constexpr std::string_view kMagic = "hw-seal1";

/// The seal at the end of `tail`, if there is one.
std::optional<Seal> seal_in(std::string_view tail) {
  Seal seal{};
  if (tail.size() < sizeof seal) return std::nullopt;
  std::memcpy(&seal, tail.data() + tail.size() - sizeof seal, sizeof seal);
  if (std::string_view(seal.magic.data(), seal.magic.size()) != kMagic) return std::nullopt;
  return seal;
}

struct Descriptor {
  int number;
  ~Descriptor() {
    if (number >= 0) ::close(number);
  }
};

/// Fills `buffer` as far as the file reaches; nothing where reading fails.
std::optional<std::size_t> read_at(int file, char* buffer, std::size_t size, std::uint64_t offset) {
  std::size_t filled = 0;
  while (filled < size) {
    const auto got = ::pread(file, buffer + filled, size - filled, static_cast<off_t>(offset + filled));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::nullopt;
    if (got == 0) break;
    filled += static_cast<std::size_t>(got);
  }
  return filled;
}

/// Hash of the first `size` bytes; nothing where the file ends before.
std::optional<std::uint64_t> hash_of(int file, std::uint64_t size) {
  static constexpr std::size_t kBlock = std::size_t{256} * 1024;  // stays in the processor's cache
  thread_local std::vector<char> buffer(kBlock);
  XXH3_state_t state;
  XXH3_64bits_reset(&state);
  for (std::uint64_t done = 0; done < size;) {
    const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(kBlock, size - done));
    if (read_at(file, buffer.data(), wanted, done) != wanted) return std::nullopt;
    XXH3_64bits_update(&state, buffer.data(), wanted);
    done += wanted;
  }
  return XXH3_64bits_digest(&state);
}

std::string_view fault_of(const std::optional<Seal>& seal, std::uint64_t hash, std::string_view tail) {
  if (seal) {
    return seal->hash == hash ? "" : "damaged: its bytes are not those that it was sealed with; build it again";
  }
  return tail.find(kMagic) == std::string_view::npos ? "" : "truncated: its seal is cut off; build it again";
}

}  // namespace

std::optional<Contents> contents_of(const fs::path& file) {
  // O_NONBLOCK: opening a pipe that nobody writes to would wait for ever
  const Descriptor opened{::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  struct stat info{};
  if (opened.number < 0 || ::fstat(opened.number, &info) != 0 || !S_ISREG(info.st_mode)) return std::nullopt;
  const auto size = static_cast<std::uint64_t>(info.st_size);

  std::array<char, sizeof(Seal)> buffer{};
  const auto length = std::min<std::uint64_t>(size, buffer.size());
  if (read_at(opened.number, buffer.data(), length, size - length) != length) return std::nullopt;
  const std::string_view tail(buffer.data(), length);
  const auto seal = seal_in(tail);
  const auto hash = hash_of(opened.number, seal ? size - sizeof(Seal) : size);
  if (!hash) return std::nullopt;
  const auto modified = std::int64_t{info.st_mtim.tv_sec} * 1'000'000'000 + info.st_mtim.tv_nsec;
  return Contents{.hash = *hash,
                  .modified = modified,
                  .sealed = seal.has_value(),
                  .fault = std::string(fault_of(seal, *hash, tail))};
}

void seal_library(const fs::path& file) {
  auto bytes = support::read_file(file, std::numeric_limits<std::int64_t>::max());
  if (seal_in(bytes)) bytes.resize(bytes.size() - sizeof(Seal));
  Seal seal{.magic = {}, .hash = XXH3_64bits(bytes.data(), bytes.size())};
  std::ranges::copy(kMagic, seal.magic.begin());
  support::AtomicFile written(file);
  written.write(bytes);
  written.write(&seal, sizeof seal);
  written.commit();
}

}  // namespace headwright::registry

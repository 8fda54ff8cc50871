// Reads the header of a library file, to say what is wrong with it.
#include "registry/elf.h"

#include <elf.h>
#include <link.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <string_view>

#include "support/text.h"

namespace headwright::registry {
namespace {
namespace fs = std::filesystem;

using Header = ElfW(Ehdr);
using Segment = ElfW(Phdr);
using Section = ElfW(Shdr);

/// One read from a file at an offset. False where the file ends before.
template <class T>
bool read_at(std::ifstream& stream, std::uint64_t offset, T& value) {
  stream.clear();
  stream.seekg(static_cast<std::streamoff>(offset));
  return static_cast<bool>(stream.read(reinterpret_cast<char*>(&value), sizeof value));
}

std::string wrong_type(const fs::path& file) {
  std::error_code failed;
  if (fs::is_symlink(file, failed) && !fs::exists(file, failed)) {
    return "a link to '" + support::printable(fs::read_symlink(file, failed).string()) + "', which is not there";
  }
  const auto type = fs::status(file, failed).type();
  if (type == fs::file_type::directory) return "a folder, expected a shared library";
  if (type == fs::file_type::not_found) return "no such file";
  if (type != fs::file_type::regular) return "not a regular file, expected a shared library";
  return "";
}

/// The header of the running program itself: what a library for this machine must agree with.
Header own_header() {
  Header header{};
  std::ifstream stream("/proc/self/exe", std::ios::binary);
  read_at(stream, 0, header);
  return header;
}

/// `length`: bytes of the header that the file has.
std::string wrong_header(const Header& header, std::size_t length) {
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) {
    const std::string_view begin(reinterpret_cast<const char*>(header.e_ident), std::min<std::size_t>(length, 8));
    return "not a shared library: begins with '" + support::printable(begin) + "', expected an ELF file";
  }
  if (length < sizeof header) return "truncated: " + std::to_string(length) + " bytes, less than an ELF header";
  const auto own = own_header();
  if (header.e_ident[EI_CLASS] != own.e_ident[EI_CLASS] || header.e_ident[EI_DATA] != own.e_ident[EI_DATA] ||
      header.e_machine != own.e_machine) {
    return "built for another processor: ELF machine " + std::to_string(header.e_machine) + ", this runner has " +
           std::to_string(own.e_machine);
  }
  if (header.e_type != ET_DYN)
    return "an ELF file, but not a shared library (type " + std::to_string(header.e_type) + ")";
  if (header.e_phentsize != sizeof(Segment) || header.e_phnum == 0) return "damaged: its ELF header makes no sense";
  return "";
}

/// Size that the file must have by its own headers; more than 2^63 where they make no sense.
std::uint64_t claimed_size(std::ifstream& stream, const Header& header) {
  std::uint64_t claimed = sizeof(Header);
  const auto claim = [&](std::uint64_t offset, std::uint64_t length) {
    constexpr std::uint64_t kMost = std::uint64_t{1} << 63;
    claimed = std::max(claimed, offset > kMost || length > kMost ? kMost : offset + length);
  };
  claim(header.e_phoff, std::uint64_t{header.e_phnum} * sizeof(Segment));
  for (std::uint64_t i = 0; i < header.e_phnum; ++i) {
    Segment segment{};
    if (!read_at(stream, header.e_phoff + i * sizeof(Segment), segment)) break;  // already claimed above
    claim(segment.p_offset, segment.p_filesz);
  }
  if (header.e_shnum != 0) claim(header.e_shoff, std::uint64_t{header.e_shnum} * header.e_shentsize);
  for (std::uint64_t i = 0; i < header.e_shnum && header.e_shentsize == sizeof(Section); ++i) {
    Section section{};
    if (!read_at(stream, header.e_shoff + i * sizeof(Section), section)) break;
    if (section.sh_type != SHT_NOBITS) claim(section.sh_offset, section.sh_size);
  }
  return claimed;
}

}  // namespace

std::string elf_fault(const fs::path& file) {
  if (auto fault = wrong_type(file); !fault.empty()) return fault;
  std::error_code failed;
  const auto size = fs::file_size(file, failed);
  if (!failed && size == 0) return "an empty file, expected a shared library";
  std::ifstream stream(file, std::ios::binary);
  if (failed || !stream) return "cannot be read";

  Header header{};
  stream.read(reinterpret_cast<char*>(&header), sizeof header);
  if (auto fault = wrong_header(header, static_cast<std::size_t>(stream.gcount())); !fault.empty()) return fault;
  const auto claimed = claimed_size(stream, header);
  if (claimed > size) {
    return "truncated: " + support::with_thousands(static_cast<std::int64_t>(size)) + " bytes, its headers claim " +
           (claimed >> 63 != 0 ? "more than any file has"
                               : support::with_thousands(static_cast<std::int64_t>(claimed)));
  }
  return "";
}

}  // namespace headwright::registry

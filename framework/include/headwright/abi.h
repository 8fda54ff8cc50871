// The greeting of a plugin: constant plain data, readable before any C++ type is trusted.
#pragma once
#include <torch/headeronly/version.h>

#include <cstdint>
#include <vector>

#include "headwright/variant.h"

namespace headwright {

/// Raised when a change to the public headers alters a layout or a virtual table.
/// tests/unit/include keeps a hash of those headers beside it, so that each change is decided on.
inline constexpr std::uint32_t kAbiNumber = 3;

inline constexpr std::uint64_t kMagic = 0x48656164777269ULL;  // "Headwri"

struct Greeting {
  std::uint64_t magic;
  std::uint64_t struct_size;
  std::uint32_t abi_number;
  const char* toolchain;
  void (*describe)(std::vector<VariantSpec>& specs);  // called only once all of the above agree
};

}  // namespace headwright

#define HEADWRIGHT_TEXT_(x) #x
#define HEADWRIGHT_TEXT(x) HEADWRIGHT_TEXT_(x)
#ifdef __clang__
#define HEADWRIGHT_COMPILER "clang " HEADWRIGHT_TEXT(__clang_major__)
#else
#define HEADWRIGHT_COMPILER "gcc " HEADWRIGHT_TEXT(__GNUC__)
#endif

/// What both sides must have been built with.
#define HEADWRIGHT_TOOLCHAIN \
  "torch " TORCH_VERSION ", " HEADWRIGHT_COMPILER ", C++ string ABI " HEADWRIGHT_TEXT(_GLIBCXX_USE_CXX11_ABI)

// A plugin library: opened, greeted, asked what it provides. The only user of Boost.DLL.
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "headwright/variant.h"

namespace headwright::registry {

/// Why a library is not used. The message does not name the file.
class Refused : public std::runtime_error {
 public:
  explicit Refused(const std::string& reason, bool lasting_ = true) : std::runtime_error(reason), lasting(lasting_) {}
  bool lasting;  // as in Verdict
};

/// Told what a library is about to be asked for ("it was opened"), so that its death can be placed.
using Stage = std::function<void(std::string_view)>;

/// The hash that was taken of a file; nothing = whatever it holds now.
using Expected = std::optional<std::uint64_t>;

/// Opens `file` with every symbol bound, compares its greeting, has it describe itself and checks what it says.
/// Throws Refused, before it is opened where it does not hold what is expected. The library stays open for the life of
/// the process, and so does what is returned.
const std::vector<VariantSpec>& open_library(const std::filesystem::path& file, Expected expected,
                                             const Stage& entering);

/// For a library that cannot be opened because of a missing symbol: opens it with symbols bound when called, and throws
/// Refused if its greeting tells more, such as an old ABI. In the probe only, since running such code is a risk.
void greet_lazily(const std::filesystem::path& file, Expected expected, const Stage& entering);

/// The file that this code is in: libheadwright.
std::filesystem::path own_library();

}  // namespace headwright::registry

// A folder for a test's own libraries and cache, and what the tests of the registry ask again and again.
#pragma once
#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "headwright/errors.h"
#include "helpers/temporary_folder.h"
#include "registry/registry.h"

namespace headwright::registry {

using std::filesystem::path;
using testing::HasSubstr;

/// build/tests/plugins/NAME, made from tests/fixtures/plugins/NAME.
inline path fixtures(const path& name) { return path(HEADWRIGHT_BUILD_DIR) / "tests/plugins" / name; }

inline path probe_for_tests() { return path(HEADWRIGHT_BUILD_DIR) / "tests/probe_for_tests"; }

class RegistryTest : public test::TemporaryFolder {
 protected:
  /// Without a cache, and patient: the tests may share their processors.
  static Options options(std::vector<path> search_path) {
    return {.search_path = std::move(search_path), .probe = probe_for_tests(), .time_limit = std::chrono::minutes(1)};
  }

  path copy(const path& library, const path& name) const {
    std::filesystem::copy_file(library, in(name.string()));
    return in(name.string());
  }

  /// "" = the file is not refused.
  static std::string reason_for(const Registry& registry, const path& file) {
    const auto& refused = registry.refused();
    const auto found = std::ranges::find(refused, file.string(), &Refusal::file);
    return found == refused.end() ? "" : found->reason;
  }
};

}  // namespace headwright::registry

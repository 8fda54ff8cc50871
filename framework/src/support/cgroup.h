// The limits that a container puts on this process, from control groups of either version.
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>

namespace headwright::support {

struct CgroupLimits {
  std::optional<double> processors;            // quota / period; absent = no limit
  std::optional<std::int64_t> memory_left;     // bytes; file cache that can be dropped counts as left
  std::optional<std::int64_t> processes_left;  // a thread counts as one
};

/// root: where proc and sys are, for tests.
CgroupLimits cgroup_limits(const std::filesystem::path& root = "/");

}  // namespace headwright::support

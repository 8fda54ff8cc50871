// Reads the memory and processor limits of control groups.
#include "support/cgroup.h"

#include <algorithm>
#include <fstream>
#include <string>

#include "support/text.h"

namespace headwright::support {
namespace fs = std::filesystem;
namespace {

/// The first number in a small file; nothing for "max", -1 or a file that is not there.
std::optional<std::int64_t> number_in(const fs::path& path) {
  std::int64_t number = 0;
  std::ifstream file(path);
  return file >> number && number >= 0 ? std::optional(number) : std::nullopt;
}

/// The number after `key` in a file of lines "key number".
std::int64_t entry_of(const fs::path& path, const std::string& key) {
  std::ifstream file(path);
  std::string name;
  for (std::int64_t number = 0; file >> name >> number;) {
    if (name == key) return number;
  }
  return 0;
}

template <class T>
void lower_to(std::optional<T>& limit, T candidate) {
  limit = limit ? std::min(*limit, candidate) : candidate;
}

void read_processors(const fs::path& group, CgroupLimits& limits) {
  std::ifstream file(group / "cpu.max");
  double quota = 0, period = 0;
  if (file >> quota >> period && period > 0) lower_to(limits.processors, quota / period);
  const auto old_quota = number_in(group / "cpu.cfs_quota_us"), old_period = number_in(group / "cpu.cfs_period_us");
  if (old_quota && old_period && *old_quota > 0 && *old_period > 0) {
    lower_to(limits.processors, static_cast<double>(*old_quota) / static_cast<double>(*old_period));
  }
}

void read_memory(const fs::path& group, CgroupLimits& limits) {
  const auto left = [&](const char* largest, const char* used, const char* cache) {
    const auto most = number_in(group / largest);
    if (!most) return;
    const auto taken = number_in(group / used).value_or(0) - entry_of(group / "memory.stat", cache);
    lower_to(limits.memory_left, std::max<std::int64_t>(*most - std::max<std::int64_t>(taken, 0), 0));
  };
  left("memory.max", "memory.current", "inactive_file");
  left("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file");
}

void read_processes(const fs::path& group, CgroupLimits& limits) {
  const auto most = number_in(group / "pids.max"), taken = number_in(group / "pids.current");
  if (most) lower_to(limits.processes_left, std::max<std::int64_t>(*most - taken.value_or(0), 0));
}

}  // namespace

CgroupLimits cgroup_limits(const fs::path& root) {
  CgroupLimits limits;
  std::ifstream file(root / "proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    // "0::/user.slice" in version 2, "4:cpu,cpuacct:/docker/0123" in version 1
    const auto first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    auto folders = split(std::string_view(line).substr(first + 1, second - first - 1), ',');
    for (const auto& controller : folders) {
      const auto mount = root / "sys/fs/cgroup" / controller;
      // Each group on the way up may have its own limit. Inside a container the path may be the host's and not be
      // there; its own limit then stands at the mount itself, where the way up ends.
      for (fs::path group = fs::path(line.substr(second + 1)).relative_path();; group = group.parent_path()) {
        read_processors(mount / group, limits);
        read_memory(mount / group, limits);
        read_processes(mount / group, limits);
        if (group.empty()) break;
      }
    }
  }
  return limits;
}

}  // namespace headwright::support

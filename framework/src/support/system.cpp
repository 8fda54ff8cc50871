// Asks the system for processors and memory, within what a container allows.
#include "support/system.h"

#include <malloc.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <memory>
#include <string>
#include <thread>

#include "support/cgroup.h"

namespace headwright::support {
namespace {

int processors_by_affinity() {
  // A fixed cpu_set_t ends at 1024 processors
  for (int most = 1024; most <= 1 << 16; most *= 2) {
    const std::unique_ptr<cpu_set_t, void (*)(cpu_set_t*)> set(CPU_ALLOC(most), [](cpu_set_t* s) { CPU_FREE(s); });
    if (set && ::sched_getaffinity(0, CPU_ALLOC_SIZE(most), set.get()) == 0) {
      return CPU_COUNT_S(CPU_ALLOC_SIZE(most), set.get());
    }
  }
  return static_cast<int>(std::thread::hardware_concurrency());
}

std::int64_t free_memory() {
  std::ifstream file("/proc/meminfo");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("MemAvailable:")) return std::stoll(line.substr(13)) * 1024;  // given in kB
  }
  return std::int64_t{::sysconf(_SC_AVPHYS_PAGES)} * ::sysconf(_SC_PAGESIZE);
}

}  // namespace

int usable_processors() {
  const int allowed = processors_by_affinity();
  const auto quota = cgroup_limits().processors;
  // Rounded up: two threads reach a quota of 1.5, one does not
  const double most = quota ? std::min<double>(allowed, std::ceil(*quota)) : allowed;
  return std::max(1, static_cast<int>(most));
}

std::int64_t usable_memory() {
  const auto system = free_memory();
  return std::min(system, cgroup_limits().memory_left.value_or(system));
}

bool means_out_of_memory(std::string_view text) {
  constexpr std::array<std::string_view, 7> kSigns{"can't allocate memory",
                                                   "not enough memory",
                                                   "out of memory",
                                                   "Storage size calculation overflowed",
                                                   "multiplication overflow",
                                                   "tensor with negative dimension",
                                                   "cannot be represented as a SymInt"};
  return std::ranges::any_of(kSigns, [&](std::string_view sign) { return text.find(sign) != std::string_view::npos; });
}

void limit_memory() {
  std::ifstream statm("/proc/self/statm");
  std::int64_t total = 0, resident = 0, shared = 0, text = 0, unused = 0, data = 0;
  if (!(statm >> total >> resident >> shared >> text >> unused >> data)) return;
  rlimit limit{};
  if (::getrlimit(RLIMIT_DATA, &limit) != 0) return;
  const auto most = static_cast<rlim_t>(data * ::sysconf(_SC_PAGESIZE) + usable_memory());
  if (limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur <= most) return;
  limit.rlim_cur = most;
  ::setrlimit(RLIMIT_DATA, &limit);  // where it is refused, the system's own rule stays
}

void keep_freed_memory() {
  ::mallopt(M_MMAP_MAX, 0);         // large blocks come from the heap too, instead of a mapping of their own
  ::mallopt(M_TRIM_THRESHOLD, -1);  // and the heap's end is never given back
}

}  // namespace headwright::support

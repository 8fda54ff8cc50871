// Settles the number of threads from options, environment and system, in this order.
#include "support/threads.h"

#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <latch>
#include <optional>
#include <string_view>
#include <vector>

#include "support/cgroup.h"
#include "support/system.h"
#include "support/text.h"

namespace headwright::support {
namespace {

/// The variable without blanks; empty = not set.
std::string_view variable(const char* name) {
  const char* value = std::getenv(name);
  std::string_view text = value == nullptr ? "" : value;
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

/// The number that the text begins with and what follows it; nothing unless it is at least 1.
std::optional<std::pair<std::int64_t, std::string_view>> number_before(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || number < 1) return {};
  return std::pair(number, text.substr(static_cast<std::size_t>(end - text.data())));
}

/// "4", or the outermost of "4,2".
std::optional<std::int64_t> count_in(const char* name) {
  const auto found = number_before(variable(name));
  if (!found || (!found->second.empty() && found->second.front() != ',')) return {};
  return found->first;
}

/// Bytes of the stack of each of OpenMP's threads: OMP_STACKSIZE ("4M"; KiB without a unit), else the system's own.
std::size_t stack_size() {
  const auto found = number_before(variable("OMP_STACKSIZE"));
  if (!found) {
    pthread_attr_t usual;
    std::size_t bytes = 8 << 20;
    if (::pthread_attr_init(&usual) != 0) return bytes;
    ::pthread_attr_getstacksize(&usual, &bytes);
    ::pthread_attr_destroy(&usual);
    return bytes;
  }
  const auto unit = found->second.empty() ? 'K' : std::toupper(static_cast<unsigned char>(found->second.back()));
  const int shift = unit == 'B' ? 0 : unit == 'M' ? 20 : unit == 'G' ? 30 : 10;
  return static_cast<std::size_t>(std::min<std::int64_t>(found->first, std::int64_t{1} << 33)) << shift;
}

std::optional<std::int64_t> number_in(const char* path) {
  std::int64_t number = 0;
  std::ifstream file(path);
  return file >> number ? std::optional(number) : std::nullopt;
}

struct Limit {
  std::int64_t most;
  std::string name;
};

/// What the system says it would give beside the thread that runs; the smallest first.
std::vector<Limit> known_limits() {
  std::vector<Limit> limits;
  const auto add = [&](std::optional<std::int64_t> most, const std::string& name) {
    if (most) limits.push_back({*most, name});
  };
  rlimit processes{};
  if (::geteuid() != 0 && ::getrlimit(RLIMIT_NPROC, &processes) == 0 && processes.rlim_cur != RLIM_INFINITY) {
    add(static_cast<std::int64_t>(processes.rlim_cur), "ulimit -u");
  }
  add(cgroup_limits().processes_left, "pids.max of its control group");
  add(number_in("/proc/sys/kernel/threads-max"), "/proc/sys/kernel/threads-max");
  add(number_in("/proc/sys/kernel/pid_max"), "/proc/sys/kernel/pid_max");
  const auto stack = stack_size();
  add(usable_memory() / static_cast<std::int64_t>(stack),
      "memory for stacks of " + bytes_text(static_cast<double>(stack)));
  std::ranges::stable_sort(limits, {}, &Limit::most);
  return limits;
}

/// How many of `wanted` threads start, all of them alive at once.
std::int64_t startable(std::int64_t wanted) {
  pthread_attr_t attributes;
  if (::pthread_attr_init(&attributes) != 0) return 0;
  ::pthread_attr_setstacksize(&attributes, stack_size());
  std::latch done(1);
  const auto wait = [](void* latch) -> void* {
    static_cast<std::latch*>(latch)->wait();
    return nullptr;
  };
  std::vector<pthread_t> threads;
  for (pthread_t thread{}; std::ssize(threads) < wanted; threads.push_back(thread)) {
    if (::pthread_create(&thread, &attributes, wait, &done) != 0) break;
  }
  done.count_down();
  for (const auto thread : threads) ::pthread_join(thread, nullptr);
  ::pthread_attr_destroy(&attributes);
  return static_cast<std::int64_t>(threads.size());
}

}  // namespace

ThreadCount usual_threads() {
  ThreadCount usual{usable_processors(), "one for each usable processor"};
  for (const auto* name : {"OMP_NUM_THREADS", "MKL_NUM_THREADS"}) {
    if (const auto count = count_in(name)) {
      usual = {*count, name};
      break;
    }
  }
  if (const auto most = count_in("OMP_THREAD_LIMIT"); most && *most < usual.count) usual = {*most, "OMP_THREAD_LIMIT"};
  return usual;
}

std::string why_not_threads(std::int64_t count) {
  const auto others = count - 1;  // beside the one that runs
  if (others < 1) return "";
  const auto limits = known_limits();
  const auto& least = limits.front();
  const auto most = others > least.most ? least.most : startable(others);
  if (most >= others) return "";
  return "this process may have " + std::to_string(most + 1) + " (" +
         (others > least.most ? "" : "the system starts no more; the smallest known limit is ") + least.name + ")";
}

}  // namespace headwright::support

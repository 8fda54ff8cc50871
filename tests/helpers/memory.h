// The most memory that this process held while something ran.
#pragma once
#include <fstream>
#include <string>

namespace headwright::test {

/// A line of /proc/self/status in bytes: "VmRSS", "VmHWM".
inline double status_bytes(const std::string& key) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(key + ":")) return std::stod(line.substr(key.size() + 1)) * 1024;
  }
  return 0;
}

/// Bytes that `work` held at its highest beyond what was held before.
template <class Work>
double peak_extra_bytes(const Work& work) {
  std::ofstream("/proc/self/clear_refs") << "5";  // the high-water mark starts from here
  const double before = status_bytes("VmRSS");
  work();
  return status_bytes("VmHWM") - before;
}

}  // namespace headwright::test

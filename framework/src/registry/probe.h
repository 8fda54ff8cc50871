// Tries libraries in a child process, since opening a broken one can end the process that does it.
#pragma once
#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "registry/verdict.h"

namespace headwright::registry {

/// One child serves all files; it is started with the first, and again after a file that ended or stopped it.
/// Parent and child exchange packets on one socket: a hash and a path there, a Verdict as JSON back.
class Probe {
 public:
  Probe(std::filesystem::path executable, std::chrono::milliseconds time_limit);
  ~Probe();
  Probe(const Probe&) = delete;
  Probe& operator=(const Probe&) = delete;

  /// expected: the hash that was taken of the file; one that holds something else is not opened. Nothing = any.
  Verdict try_file(const std::filesystem::path& file, std::optional<std::uint64_t> expected = {});

 private:
  void start();
  void stop();

  const std::filesystem::path executable_;
  const std::chrono::milliseconds time_limit_;
  pid_t child_ = -1;  // leads a process group, which whatever a plugin starts belongs to
  int socket_ = -1;
  std::string unusable_;  // why no child can be started; tried once
};

}  // namespace headwright::registry

// Starts the child process, hands it one file after the other, and survives its end.
#include "registry/probe.h"

#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <nlohmann/json.hpp>
#include <system_error>

#include "registry/packets.h"
#include "support/log.h"
#include "support/text.h"

namespace headwright::registry {
namespace {
using std::chrono::milliseconds;
using std::chrono::steady_clock;

// Loading libtorch takes 0.2 s; much longer on a cold disk.
constexpr milliseconds kStartLimit{60'000};

std::string seconds_text(milliseconds time) {
  return support::number_text(std::chrono::duration<double>(time).count()) + " s";
}

/// True if something can be read, or the other side is gone, before `limit` is over.
bool readable_within(int socket, milliseconds limit) {
  const auto end = steady_clock::now() + limit;
  while (true) {
    const auto left = std::chrono::ceil<milliseconds>(end - steady_clock::now()).count();
    pollfd waiting{.fd = socket, .events = POLLIN, .revents = 0};
    const int ready = ::poll(&waiting, 1, left > 0 ? static_cast<int>(left) : 0);
    if (ready > 0) return true;
    if (ready == 0 && left <= 0) return false;
    if (ready < 0 && errno != EINTR) return false;
  }
}

/// Starts `executable probe` in a process group of its own, with `socket` as its stdin and stdout, and nothing else
/// inherited but stderr. Returns errno.
int spawn(const std::string& executable, int socket, pid_t& child) {
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, socket, STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, socket, STDOUT_FILENO);
  ::posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);

  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
  ::posix_spawnattr_setpgroup(&attributes, 0);
  sigset_t all, none;
  sigfillset(&all);
  sigemptyset(&none);
  ::posix_spawnattr_setsigdefault(&attributes, &all);
  ::posix_spawnattr_setsigmask(&attributes, &none);

  std::string program = executable, command = "probe";
  const std::array<char*, 3> arguments{program.data(), command.data(), nullptr};
  const int failed = ::posix_spawn(&child, executable.c_str(), &actions, &attributes, arguments.data(), environ);
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&actions);
  return failed;
}

}  // namespace

Probe::Probe(std::filesystem::path executable, milliseconds time_limit)
    : executable_(std::move(executable)), time_limit_(time_limit) {}

Probe::~Probe() { stop(); }

void Probe::start() {
  const auto fail = [&](const std::string& why) {
    stop();
    unusable_ = "could not be tried: the probe '" + executable_.string() + "' " + why;
  };
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return fail("gets no socket: " + std::generic_category().message(errno));
  }
  socket_ = ends[0];
  const int failed = spawn(executable_.string(), ends[1], child_);
  ::close(ends[1]);
  if (failed != 0) {
    child_ = -1;
    return fail("cannot be started: " + std::generic_category().message(failed));
  }
  support::log::debug("started the probe " + executable_.string());
  if (!readable_within(socket_, kStartLimit)) return fail("does not answer");
  if (receive_packet(socket_) != kReady) return fail("is not one: it gave no sign of being ready");
}

void Probe::stop() {
  if (socket_ >= 0) ::close(socket_);
  socket_ = -1;
  if (child_ < 0) return;
  ::kill(-child_, SIGKILL);  // the whole group
  while (::waitpid(child_, nullptr, 0) < 0 && errno == EINTR) continue;
  child_ = -1;
}

Verdict Probe::try_file(const std::filesystem::path& file, std::optional<std::uint64_t> expected) {
  if (child_ < 0 && unusable_.empty()) start();
  if (!unusable_.empty()) return refused(unusable_, false);
  if (send_packet(socket_, question(file.string(), expected))) {
    // Not lasting: a machine under load makes a good library slow, and then it must not stay refused.
    if (!readable_within(socket_, time_limit_)) {
      stop();
      return refused("hangs: no answer within " + seconds_text(time_limit_), false);
    }
    if (const auto answer = receive_packet(socket_)) {
      if (const auto verdict = verdict_from(nlohmann::json::parse(*answer, nullptr, false))) return *verdict;
    }
  }
  stop();
  return refused("ended the probe that tried it", false);
}

}  // namespace headwright::registry

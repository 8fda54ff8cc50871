// The child's side of the probe. Each file is tried in a process forked for it, so that what one library breaks is
// never blamed on the next, and a crash does not cost another start of libtorch.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>
#include <system_error>

#include "registry/library.h"
#include "registry/packets.h"
#include "registry/registry.h"
#include "registry/verdict.h"
#include "support/text.h"

namespace headwright::registry {
namespace {

/// A file in memory that a fork fills and its parent reads.
class Scratch {
 public:
  Scratch() : descriptor(::memfd_create("headwright-probe", MFD_CLOEXEC)) {}
  ~Scratch() { ::close(descriptor); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  void add_line(std::string text) const {
    text += '\n';
    if (::write(descriptor, text.data(), text.size()) < 0) std::_Exit(EXIT_FAILURE);
  }
  std::string first(std::size_t most) const {
    std::string text(most, '\0');
    const auto size = ::pread(descriptor, text.data(), text.size(), 0);
    text.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
    return text;
  }

  const int descriptor;
};

/// In the fork: everything that runs the library's code.
Verdict examine(const Question& asked, const Scratch& notes) {
  const Stage entering = [&](std::string_view stage) { notes.add_line(std::string(stage)); };
  try {
    Verdict verdict;
    for (const auto& spec : open_library(asked.file, asked.expected, entering)) {
      verdict.provides.push_back({spec.name, spec.kind});
    }
    return verdict;
  } catch (const Refused& refusal) {
    if (refusal.lasting) return refused(refusal.what());
    notes.add_line(to_json(refused(refusal.what(), false)).dump());  // stands, if the second look ends this process
    try {
      greet_lazily(asked.file, asked.expected, entering);
    } catch (const Refused& second) {
      if (second.lasting) return refused(second.what());
    }
    return refused(refusal.what(), false);
  } catch (const std::exception& failure) {
    return refused(std::string("threw: ") + failure.what());
  } catch (...) {
    return refused("threw something that is no std::exception");
  }
}

[[noreturn]] void run_fork(const Question& asked, const Scratch& notes, const Scratch& noise, pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // a hanging library must not outlive the probe
  if (::getppid() != parent) std::_Exit(EXIT_FAILURE);
  ::dup2(noise.descriptor, STDERR_FILENO);
  const rlimit none{};
  ::setrlimit(RLIMIT_CORE, &none);  // a crash here is an answer, not something to look into
  notes.add_line(to_json(examine(asked, notes)).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  std::_Exit(EXIT_SUCCESS);  // runs no destructor of the library
}

/// On one line, as part of a message.
std::string one_line(const std::string& text) {
  std::string line;
  for (const char c : text) {
    const bool space = std::isspace(static_cast<unsigned char>(c)) != 0;
    if (!space) line += c;
    else if (!line.empty() && line.back() != ' ') line += ' ';
  }
  while (line.ends_with(' ')) line.pop_back();
  return support::printable(line, 200);
}

/// `status`: of waitpid. `stage`: what the library was asked for last.
Verdict death(int status, const std::string& stage, const std::string& said) {
  const auto when = " while " + stage + (said.empty() ? "" : "; it said: " + one_line(said));
  if (!WIFSIGNALED(status)) {
    return refused("ended the process with exit status " + std::to_string(WEXITSTATUS(status)) + when);
  }
  const int signal = WTERMSIG(status);
  // Nobody but the system or a person sends these: too little memory, the end of a session.
  const bool from_outside = signal == SIGKILL || signal == SIGTERM || signal == SIGINT || signal == SIGHUP;
  const auto name = "signal " + std::to_string(signal) + " (" + ::strsignal(signal) + ")";
  return refused("crashed with " + name + when, !from_outside);
}

/// The last verdict among the notes; without one, how the fork died says all.
Verdict conclude(int status, const Scratch& notes, const Scratch& noise) {
  std::string stage = "it was opened";
  std::optional<Verdict> verdict;
  for (const auto& line : support::split(notes.first(kLargestPacket), '\n')) {
    if (line.empty()) continue;
    if (!line.starts_with('{')) {
      stage = line;
    } else if (auto noted = verdict_from(nlohmann::json::parse(line, nullptr, false))) {
      verdict = std::move(noted);
    }
  }
  return verdict ? *verdict : death(status, stage, noise.first(1000));
}

Verdict try_in_a_fork(const Question& asked, int socket) {
  const Scratch notes, noise;
  const pid_t parent = ::getpid();
  const pid_t fork = ::fork();
  if (fork < 0) return refused("could not be tried: " + std::generic_category().message(errno), false);
  if (fork == 0) {
    ::close(socket);
    run_fork(asked, notes, noise, parent);
  }
  int status = 0;
  while (::waitpid(fork, &status, 0) < 0 && errno == EINTR) continue;
  return conclude(status, notes, noise);
}

/// Moves the socket away from stdin and stdout, which a plugin may use, and leaves /dev/null there.
int take_socket() {
  const int socket = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  ::dup2(null, STDIN_FILENO);
  ::dup2(null, STDOUT_FILENO);
  ::close(null);
  return socket;
}

}  // namespace

int probe_main() {
  const int socket = take_socket();
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // a parent that is already gone shows as the end of the packets
  if (!send_packet(socket, kReady)) return EXIT_FAILURE;
  while (const auto packet = receive_packet(socket)) {
    auto answer = to_json(try_in_a_fork(question_in(*packet), socket)).dump();
    if (answer.size() > kLargestPacket) answer = to_json(refused("provides more than can be listed")).dump();
    if (!send_packet(socket, answer)) break;
  }
  return EXIT_SUCCESS;
}

}  // namespace headwright::registry

// Maps exceptions to exit codes and messages.
#include "exit_code.h"

#include <c10/util/Exception.h>

#include <csignal>
#include <iostream>
#include <new>
#include <string>

#include "problems.h"
#include "support/files.h"
#include "support/system.h"

namespace headwright::runner {
namespace {

Failure failure(int code, const std::string& message) { return {code, {Problem{.file = "", .message = message}}}; }

}  // namespace

void end_cleanly_on_signals() {
  const auto handler = [](int signal) {
    support::remove_unfinished_files();
    std::signal(signal, SIG_DFL);
    std::raise(signal);
  };
  std::signal(SIGXFSZ, SIG_IGN);  // a write past the limit of a file's size fails then, and says so
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    // Who started the process with the signal ignored (nohup) wants it ignored
    if (std::signal(signal, handler) == SIG_IGN) std::signal(signal, SIG_IGN);
  }
}

Failure current_failure() {
  try {
    throw;
  } catch (const ConfigError& error) {
    return {kUsage, error.problems()};
  } catch (const InputError& error) {
    return failure(kUsage, error.what());
  } catch (const PluginError& error) {
    return failure(kPlugin, error.what());
  } catch (const ResourceError& error) {
    return failure(kResource, error.what());
  } catch (const c10::Error& error) {
    const std::string text = error.what_without_backtrace();
    return support::means_out_of_memory(text) ? failure(kResource, "not enough memory: " + text)
                                              : failure(kFailure, text);
  } catch (const std::bad_alloc&) {
    return failure(kResource, "not enough memory");
  } catch (const std::exception& error) {
    return failure(kFailure, error.what());
  } catch (...) {
    return failure(kFailure, "something was thrown that is no exception");
  }
}

int report(const Failure& failure, bool json) {
  std::cout.flush();
  std::cerr << problems_text(failure.problems);
  if (json) print_json(problems_json(failure.problems, failure.code));
  return failure.code;
}

int guarded(const std::function<int()>& action, bool json) {
  try {
    return action();
  } catch (...) {
    return report(current_failure(), json);
  }
}

int finish(int code) {
  std::cout.flush();
  if (std::cout) return code;
  return report(failure(code == kOk ? kFailure : code, "stdout: what was printed could not be written"), false);
}

}  // namespace headwright::runner

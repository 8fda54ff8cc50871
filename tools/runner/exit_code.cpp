#include "exit_code.h"

#include <c10/util/Exception.h>

#include <csignal>
#include <iostream>
#include <new>
#include <string>

#include "headwright/errors.h"
#include "support/files.h"
#include "support/system.h"

namespace headwright::runner {
namespace {

int say(const std::string& message, int code) {
  std::cout.flush();
  std::cerr << "runner: " << message << '\n';
  return code;
}

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

int guarded(const std::function<int()>& action) {
  try {
    return action();
  } catch (const ConfigError& error) {
    std::cerr << error.what() << '\n';
    return kUsage;
  } catch (const InputError& error) {
    return say(error.what(), kUsage);
  } catch (const PluginError& error) {
    return say(error.what(), kPlugin);
  } catch (const ResourceError& error) {
    return say(error.what(), kResource);
  } catch (const c10::Error& error) {
    const std::string text = error.what_without_backtrace();
    return support::means_out_of_memory(text) ? say("not enough memory: " + text, kResource) : say(text, kFailure);
  } catch (const std::bad_alloc&) {
    return say("not enough memory", kResource);
  } catch (const std::exception& error) {
    return say(error.what(), kFailure);
  } catch (...) {
    return say("failed with something that is no std::exception", kFailure);
  }
}

int finish(int code) {
  std::cout.flush();
  if (std::cout) return code;
  return say("stdout: what was printed could not be written", code == kOk ? kFailure : code);
}

}  // namespace headwright::runner

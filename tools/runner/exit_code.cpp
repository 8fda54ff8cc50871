#include "exit_code.h"

#include <c10/util/Exception.h>

#include <iostream>
#include <new>
#include <string>

#include "headwright/errors.h"

namespace headwright::runner {
namespace {

int say(const std::string& message, int code) {
  std::cout.flush();
  std::cerr << "runner: " << message << '\n';
  return code;
}

/// torch reports a failed allocation like any other error; only its text tells.
bool is_out_of_memory(const c10::Error& error) {
  const std::string text = error.what_without_backtrace();
  return dynamic_cast<const c10::OutOfMemoryError*>(&error) != nullptr ||
         text.find("can't allocate memory") != std::string::npos ||
         text.find("not enough memory") != std::string::npos || text.find("out of memory") != std::string::npos ||
         text.find("Storage size calculation overflowed") != std::string::npos;
}

}  // namespace

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
    return is_out_of_memory(error) ? say("not enough memory: " + text, kResource) : say(text, kFailure);
  } catch (const std::bad_alloc&) {
    return say("not enough memory", kResource);
  } catch (const std::exception& error) {
    return say(error.what(), kFailure);
  }
}

int finish(int code) {
  std::cout.flush();
  if (std::cout) return code;
  return say("stdout: what was printed could not be written", code == kOk ? kFailure : code);
}

}  // namespace headwright::runner

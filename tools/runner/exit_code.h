// Exceptions to exit codes and messages, in one place.
#pragma once
#include <functional>
#include <vector>

#include "headwright/errors.h"

namespace headwright::runner {

inline constexpr int kOk = 0, kFailure = 1, kUsage = 2, kPlugin = 3, kResource = 4, kDiffers = 5;

/// How something failed. What stands nowhere in a config has a message alone.
struct Failure {
  int code = kFailure;
  std::vector<Problem> problems;
};

/// Of the exception that is being handled.
Failure current_failure();

/// On stderr, the first problems and how many more there are; with json also on stdout, as one object
/// {errors: [{file, line, column, path, message, suggestion}], exit_code}. Returns the exit code.
int report(const Failure& failure, bool json);

/// Runs an action and reports whatever it throws.
int guarded(const std::function<int()>& action, bool json);

/// SIGINT, SIGTERM and SIGHUP end the process as they always do, but leave no half-written file behind.
void end_cleanly_on_signals();

/// What was printed must have arrived: a full disk behind stdout is a failure.
int finish(int code);

}  // namespace headwright::runner

// Exceptions to exit codes, in one place.
#pragma once
#include <functional>

namespace headwright::runner {

inline constexpr int kOk = 0, kFailure = 1, kUsage = 2, kPlugin = 3, kResource = 4, kDiffers = 5;

/// Runs an action; whatever it throws becomes a message on stderr and an exit code.
int guarded(const std::function<int()>& action);

/// SIGINT, SIGTERM and SIGHUP end the process as they always do, but leave no half-written file behind.
void end_cleanly_on_signals();

/// What was printed must have arrived: a full disk behind stdout is a failure.
int finish(int code);

}  // namespace headwright::runner

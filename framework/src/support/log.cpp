// The only user of spdlog.
#include "support/log.h"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "headwright/errors.h"
#include "support/text.h"

namespace headwright::support::log {
namespace {

spdlog::color_mode mode_of(Color color) {
  if (color == Color::always) return spdlog::color_mode::always;
  if (color == Color::never) return spdlog::color_mode::never;
  const auto set = [](const char* name) {
    const char* value = std::getenv(name);
    return value ? std::string_view(value) : std::string_view();
  };
  const bool plain = !set("NO_COLOR").empty() || set("TERM") == "dumb" || ::isatty(STDERR_FILENO) == 0;
  return plain ? spdlog::color_mode::never : spdlog::color_mode::always;
}

/// One for the process, made on the first message; never destroyed, so that a late message finds it.
spdlog::logger& logger() {
  static auto* const made = [] {
    auto sink = std::make_shared<spdlog::sinks::stderr_color_sink_mt>(mode_of(Color::automatic));
    auto* logger = new spdlog::logger("headwright", std::move(sink));
    logger->set_pattern("%^%l%$: %v");
    return logger;
  }();
  return *made;
}

// As a view, since a message is no format: its braces stay.
void say(spdlog::level::level_enum level, const std::string& message) {
  logger().log(level, spdlog::string_view_t(message));
}

}  // namespace

std::vector<std::string> level_names() { return {"debug", "info", "warn", "error", "off"}; }

void set_up(std::string_view level, Color color) {
  const auto names = level_names();
  if (std::ranges::find(names, level) == names.end()) {
    throw InputError("log level: got '" + printable(level) + "', expected one of: " + join(names, ", "));
  }
  logger().set_level(spdlog::level::from_str(std::string(level)));
  static_cast<spdlog::sinks::stderr_color_sink_mt&>(*logger().sinks().front()).set_color_mode(mode_of(color));
}

void debug(const std::string& message) { say(spdlog::level::debug, message); }
void info(const std::string& message) { say(spdlog::level::info, message); }
void warn(const std::string& message) { say(spdlog::level::warn, message); }
void error(const std::string& message) { say(spdlog::level::err, message); }

}  // namespace headwright::support::log

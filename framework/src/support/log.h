// Messages to stderr. Includes neither spdlog nor torch, whose fmt headers do not go together.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace headwright::support::log {

enum class Color { automatic, always, never };

/// Names of the levels, least severe first.
std::vector<std::string> level_names();

/// Once, at start. level: one of level_names(). NO_COLOR is obeyed with Color::automatic.
void set_up(std::string_view level, Color color);

void debug(const std::string& message);
void info(const std::string& message);
void warn(const std::string& message);
void error(const std::string& message);

}  // namespace headwright::support::log

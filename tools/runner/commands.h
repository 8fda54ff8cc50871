// The commands in the order of --help. A new one is a file that defines add_NAME, and a row here.
#pragma once
#include "command.h"

#define HEADWRIGHT_COMMANDS(ROW) \
  ROW(forward)                   \
  ROW(export)                    \
  ROW(compare)                   \
  ROW(lesson)                    \
  ROW(bench)                     \
  ROW(show)                      \
  ROW(validate)                  \
  ROW(mask)                      \
  ROW(list)                      \
  ROW(describe)                  \
  ROW(check)                     \
  ROW(new_plugin)                \
  ROW(seal)                      \
  ROW(schema)                    \
  ROW(inspect)                   \
  ROW(doctor)                    \
  ROW(completion)                \
  ROW(probe) /* hidden: the registry's child process */

namespace headwright::runner {

#define HEADWRIGHT_DECLARE(name) void add_##name(CLI::App& app, Global& global);
HEADWRIGHT_COMMANDS(HEADWRIGHT_DECLARE)
#undef HEADWRIGHT_DECLARE

}  // namespace headwright::runner

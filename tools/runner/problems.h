// What went wrong, for people and as JSON. Neither grows without bound, and neither carries codes for a terminal.
#pragma once
#include <string>
#include <vector>

#include "command.h"
#include "headwright/errors.h"

namespace headwright::runner {

/// A line each, the first ten; "... and 1990 more". Ends with a newline unless there are none.
std::string problems_text(const std::vector<Problem>& problems);

/// {errors: [{file, line, column, path, message, suggestion}], exit_code}, and `omitted` where there are more than
/// 1000.
Json problems_json(const std::vector<Problem>& problems, int exit_code);

}  // namespace headwright::runner

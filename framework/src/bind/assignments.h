// Values of rows from texts such as "window_size=3", by the rules of a config.
#pragma once
#include <string>
#include <vector>

#include "bind/reader.h"
#include "bind/rows.h"

namespace headwright::bind {

class Assignments {
 public:
  /// Throws ConfigError for a text that is no assignment.
  Assignments(registry::Registry& registry, const std::vector<std::string>& texts);

  /// Every row, those that are not assigned at their default. Throws ConfigError with every problem.
  ParamMap read(const Rows& rows);

  /// Reports what is wrong with a value, at the text that assigned it.
  void report(const std::string& key, const std::string& message, const std::string& suggestion = "");

  bool is_sound() const { return reader_.problems.empty(); }

  /// Throws ConfigError where there are problems.
  void throw_problems() const;

 private:
  Reader reader_;
  spec::Node given_;
};

}  // namespace headwright::bind
